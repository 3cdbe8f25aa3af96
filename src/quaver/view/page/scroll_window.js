// Scrolling over more rows than a browser can lay out: only what is in sight exists.

const MOST = 8_000_000; // pixels that every browser lays out without losing precision

/** A scrolled area whose content is drawn by `draw`, at an offset of any size. */
export class ScrollWindow {
  /**
   * @param area The element that scrolls; its first child gives it its size, and sticks out of nothing.
   * @param spacer That child.
   * @param draw Called, at most once a frame, when the offset or the size has changed.
   */
  constructor(area, spacer, draw) {
    Object.assign(this, {area, spacer, draw, top: 0, left: 0, height: 0, width: 0});
    this.frame = 0;
    this.own = -1;
    area.addEventListener("scroll", () => this.#scrolled(), {passive: true});
    area.addEventListener("wheel", (event) => this.#wheeled(event), {passive: false});
    this.observer = new ResizeObserver(() => this.ask());
    this.observer.observe(area);
  }

  get viewHeight() {
    return this.area.clientHeight;
  }

  get viewWidth() {
    return this.area.clientWidth;
  }

  get #most() {
    return Math.max(0, this.height - this.viewHeight);
  }

  /** How many pixels of the content a pixel of the scroll bar is. */
  get #ratio() {
    return this.height <= MOST ? 1 : this.#most / (MOST - this.viewHeight);
  }

  /** The size of the whole content. */
  size(width, height) {
    if (this.width !== width || this.height !== height) {
      [this.width, this.height] = [width, height];
      this.spacer.style.height = `${Math.min(height, MOST)}px`;
      this.spacer.style.width = `${width}px`;
      this.top = Math.min(this.top, this.#most);
    }
    this.ask();
  }

  /** Move to an offset. */
  to(top, left = this.left) {
    this.top = Math.max(0, Math.min(this.#most, top));
    this.own = Math.round(this.top / this.#ratio);
    this.area.scrollTop = this.own;
    this.area.scrollLeft = left;
    this.left = this.area.scrollLeft;
    this.ask();
  }

  /** Draw soon. */
  ask() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  #scrolled() {
    const place = this.area.scrollTop;
    this.left = this.area.scrollLeft;
    if (Math.abs(place - this.own) > 1) {
      this.top = Math.max(0, Math.min(this.#most, place * this.#ratio));
      this.own = -1;
    }
    this.ask();
  }

  /** In a very long content a turn of the wheel still moves by as many pixels as anywhere. */
  #wheeled(event) {
    if (this.#ratio === 1 || event.ctrlKey || !event.deltaY || event.shiftKey) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? this.viewHeight : 1;
    this.to(this.top + event.deltaY * lines);
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }
}
