// The page's beginning: opens the source, builds the page, and shows the view that the address names.

import { current, onAddress } from "./address.js";
import { AnswersView } from "./answers_view.js";
import { App } from "./app.js";
import { count, fill, made, percent } from "./elements.js";
import { GridView } from "./grid_view.js";
import { JudgeView } from "./judge_view.js";
import { OverviewView } from "./overview_view.js";
import { ServerSource } from "./source.js";

const VIEWS = {overview: OverviewView, grid: GridView, answers: AnswersView, judge: JudgeView};
const PULSE = 2000;

/** Open the source, build the page around it, and follow the address from then on. */
async function start() {
  const page = document.getElementById("page");
  const source = new ServerSource();
  let app = null;
  try {
    app = new App(source, await source.studies());
  } catch (error) {
    fill(page, made("p", {class: "refused", role: "alert"}, error.words || error.message));
    return;
  }
  fill(page, ...app.frame());
  if (innerWidth >= 1200) app.toggleFilters(true);
  const shown = {name: "", study: "", view: null};

  const show = async () => {
    const {view, given} = current();
    const name = VIEWS[view] ? view : "overview";
    app.mark(name);
    try {
      const ready = await app.ready((words) => {
        shown.view?.leave?.();
        Object.assign(shown, {name: "", view: null});
        fill(app.main, made("p", {class: "waiting", role: "status"}, words));
      });
      if (!ready) return;
      app.mark(name);
      if (shown.name !== name || shown.study !== app.study) {
        shown.view?.leave?.();
        app.keys.ofView({});
        Object.assign(shown, {name, study: app.study, view: new VIEWS[name](app)});
        app.main.className = name;
        fill(app.main, shown.view.element);
        scrollTo(0, 0);
      }
      await shown.view.update(given);
    } catch (error) {
      app.refused(error);
    }
  };
  onAddress(show);
  await show();
  beat(app, shown);
}

/** Look every two seconds whether answers or marks have come, and let the view that is shown know. */
function beat(app, shown) {
  const versions = new Map();
  const look = async () => {
    if (document.hidden) return;
    let known = null;
    try {
      known = (await app.source.pulse()).studies[app.study];
    } catch (error) {
      app.pulse.textContent = "No connection";
      app.pulse.title = error.words || "";
      return;
    }
    if (!known) return;
    tellPulse(app, known);
    const key = `${known.version} ${known.marks} ${known.verdict}`;
    const before = versions.get(app.study);
    versions.set(app.study, key);
    if (before !== undefined && before !== key) shown.view?.refresh?.(known);
  };
  setInterval(look, PULSE);
  look();
}

function tellPulse(app, known) {
  const {index, answered, total, process} = known;
  app.pulse.title = "";
  app.pulse.classList.toggle("running", Boolean(process));
  if (index.state === "building") app.pulse.textContent = `Reading answers: ${percent(index.done / Math.max(1, index.of))}`;
  else if (index.state === "failed") app.pulse.textContent = "The answers were not read";
  else if (process) app.pulse.textContent = `Running: ${count(answered)} of ${count(total)}`;
  else app.pulse.textContent = total > answered ? `${count(answered)} of ${count(total)} answers` : "";
}

start();
