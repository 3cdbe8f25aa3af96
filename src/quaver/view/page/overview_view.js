// The overview: what to do with the labels, and how far the run is.

import { button, count, counted, fill, made, money, percent } from "./elements.js";

export class OverviewView {
  constructor(app) {
    this.app = app;
    this.card = made("section", {class: "first-screen", "aria-label": "Verdict"});
    this.run = made("section", {class: "run", "aria-label": "Progress and cost"});
    this.ways = made("section", {class: "ways", "aria-labelledby": "ways-title"});
    this.element = made("div", {class: "page"}, this.card, made("div", {class: "beside"}, this.run, this.ways));
  }

  async update() {
    const known = await this.app.source.overview(this.app.study);
    this.known = known;
    this.app.count(null, null);
    this.#card(known);
    this.#run(known);
    this.#ways(known.design);
  }

  refresh() {
    return this.update().catch((error) => this.app.refused(error));
  }

  #card({brief, verdict}) {
    if (!verdict.screen) {
      fill(this.card, made("div", {class: "card"}, made("p", {class: "study"}, brief.name), ...this.#unjudged(verdict, brief)));
      return;
    }
    if (verdict.screen === this.shown) return; // what a reader has opened stays open
    this.shown = verdict.screen;
    this.card.innerHTML = verdict.screen; // the report's own template, in which every text is escaped
    for (const link of this.card.querySelectorAll("[data-query]")) link.href = this.app.href("answers", {q: link.dataset.query});
  }

  #unjudged(verdict, brief) {
    const soon = verdict.state === "none" && brief.answers > 0;
    const words = {
      reading: ["Reading the answers…", "You can look at what is there already."],
      making: ["The verdict is being computed.", "It appears here when it is ready; everything else works in the meantime."],
      failed: ["There is no verdict.", verdict.error ? [verdict.error.problem, verdict.error.fix].filter(Boolean).join(" ") : ""],
    }[brief.index.state === "building" ? "reading" : soon ? "making" : verdict.state] || ["There is no verdict yet.", brief.answers ? "" : "No answer has been collected yet."];
    return [made("h1", {}, words[0]), words[1] ? made("p", {}, words[1]) : null];
  }

  #run({progress, report, brief}) {
    const done = progress.total ? progress.answered / progress.total : 1;
    const left = progress.left ? `, about ${spoken(progress.left)} left` : "";
    const reading = !progress.total;
    const state = reading ? "Counting the answers…" : progress.process ? `Running, ${percent(done)} done${left}` : done < 1 ? `Not complete: ${percent(done)} done` : "Complete";
    const facts = [
      reading ? null : ["Answers", `${count(progress.answered)} of ${count(progress.total)}`],
      ["Items", count(brief.items)],
      progress.errors ? ["Failed calls", made("a", {href: this.app.href("answers", {q: "is:error"})}, count(progress.errors))] : null,
      progress.process && progress.rate ? ["Speed", `${progress.rate.toLocaleString("en", {maximumFractionDigits: 1})} calls a second`] : null,
      ["Cost", money(progress.money)],
      progress.tokens ? ["Tokens", count(progress.tokens)] : null,
      progress.last ? ["Last answer", ago(progress.last)] : null,
    ].filter(Boolean);
    fill(
      this.run,
      made("h2", {}, "The run"),
      made("p", {class: "state"}, reading ? null : made("progress", {max: "1", value: done, "aria-label": "Answers collected"}), " ", state),
      made("dl", {class: "pairs"}, ...facts.flatMap(([name, fact]) => [made("dt", {}, name), made("dd", {}, fact)])),
      ...(progress.warnings || []).map((words) => made("p", {class: "warning"}, words)),
      report ? made("p", {}, made("a", {href: report, target: "_blank", rel: "noopener noreferrer"}, "Open the report")) : null,
    );
  }

  #ways(design) {
    const {app} = this;
    const first = {sort: "instability"};
    const ways = [
      [app.href("grid", first), "Every label at a glance", "Items as rows, prompts as columns; what is least stable comes first."],
      ...design.examples.slice(0, 5).map((one) => [app.href("answers", {q: one.query}), one.query, one.means]),
    ];
    fill(this.ways, made("h2", {id: "ways-title"}, "Look closer"), made("ul", {}, ...ways.map(([href, name, means], at) => made("li", {}, made("a", {href, class: at ? "code" : ""}, name), made("span", {class: "means"}, means)))));
  }
}

function spoken(time) {
  return time < 90 ? counted(Math.round(time), "second") : time < 5400 ? counted(Math.round(time / 60), "minute") : counted(Math.round(time / 3600), "hour");
}

export function ago(when) {
  const time = Math.max(0, Date.now() / 1000 - when);
  if (time < 5) return "just now";
  return time < 2 * 86400 ? `${spoken(time)} ago` : `on ${new Date(1000 * when).toLocaleDateString("en", {day: "numeric", month: "long", year: "numeric"})}`;
}
