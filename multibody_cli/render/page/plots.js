// Plots of channels over time, with a cursor at the time shown.

import { locate, numbers } from 'mbsim/data';

const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#888888'];
const LEFT = 54, BOTTOM = 18, TOP = 16, RIGHT = 14;

export class Plot {
  /** `plot` is the header of a plot, `times` are its instants; `seek` is called with a time that is clicked. */
  constructor(plot, times, buffer, parent, seek) {
    this.times = times;
    this.units = plot.units;
    this.lines = plot.lines.map((line, k) => ({
      label: line.label, values: numbers(buffer, line.values), color: COLORS[k % COLORS.length], dash: k >= COLORS.length ? [4, 3] : [],
    }));
    const box = parent.appendChild(document.createElement('div'));
    box.className = 'plot';
    this.canvas = box.appendChild(document.createElement('canvas'));
    const list = box.appendChild(document.createElement('ul'));
    for (const line of this.lines) {
      const item = list.appendChild(document.createElement('li'));
      item.innerHTML = '<b></b><span></span><output></output>';
      item.children[0].style.borderTop = `3px ${line.dash.length ? 'dotted' : 'solid'} ${line.color}`;
      item.children[1].textContent = item.title = line.label;
      line.output = item.children[2];
    }
    const toTime = (event) => {
      const { left, width } = this.canvas.getBoundingClientRect();
      const part = (event.clientX - left - LEFT) / (width - LEFT - RIGHT);
      seek(times[0] + Math.min(1, Math.max(0, part)) * (times.at(-1) - times[0]));
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      toTime(event);
    });
    this.canvas.addEventListener('pointermove', (event) => event.buttons && toTime(event));
    this.range();
  }

  range() {
    let [low, high] = [Infinity, -Infinity];
    for (const { values } of this.lines) {
      for (const value of values) {
        if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
      }
    }
    if (low > high) [low, high] = [0, 1];
    const margin = 0.05 * (high - low) || 0.5 * Math.abs(high) || 1;
    [this.low, this.high] = [low - margin, high + margin];
  }

  /** Draw the lines once for each size and theme; the cursor is drawn on top of a copy. */
  drawLines(width, height, style) {
    const page = (this.picture = document.createElement('canvas'));
    page.width = width * devicePixelRatio;
    page.height = height * devicePixelRatio;
    const pen = page.getContext('2d');
    pen.scale(devicePixelRatio, devicePixelRatio);
    const [x, y] = this.axes(width, height);
    pen.font = '10px system-ui, sans-serif';
    pen.fillStyle = style.getPropertyValue('--faint');
    pen.strokeStyle = style.getPropertyValue('--line');
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    for (const value of ticks(this.low, this.high, 5)) {
      pen.fillText(short(value), LEFT - 5, y(value));
      pen.strokeRect(LEFT, y(value), width - LEFT - RIGHT, 0);
    }
    pen.textAlign = 'center';
    for (const value of ticks(this.times[0], this.times.at(-1), 6)) pen.fillText(short(value), x(value), height - 8);
    pen.fillText('s', width - 6, height - 8);
    pen.textAlign = 'left';
    pen.fillText(this.units, 6, 7);
    pen.lineWidth = 1.4;
    const columns = Math.max(1, Math.ceil(this.times.length / (4 * width)));
    for (const { values, color, dash } of this.lines) {
      pen.strokeStyle = color;
      pen.setLineDash(dash);
      pen.beginPath();
      for (let k = 0; k < values.length; k += columns) {
        if (Number.isFinite(values[k])) pen.lineTo(x(this.times[k]), y(values[k]));
      }
      pen.stroke();
    }
  }

  axes(width, height) {
    const seconds = this.times.at(-1) - this.times[0] || 1;
    return [
      (t) => LEFT + ((t - this.times[0]) / seconds) * (width - LEFT - RIGHT),
      (value) => height - BOTTOM - ((value - this.low) / (this.high - this.low)) * (height - BOTTOM - TOP),
    ];
  }

  /** Draw the cursor at a time, and write the values there. */
  update(t, theme) {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    const key = `${width} ${height} ${devicePixelRatio} ${theme}`;
    if (key !== this.key) {
      this.key = key;
      this.canvas.width = width * devicePixelRatio;
      this.canvas.height = height * devicePixelRatio;
      this.drawLines(width, height, getComputedStyle(this.canvas));
    }
    const pen = this.canvas.getContext('2d');
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.picture, 0, 0);
    const at = this.axes(width, height)[0](t) * devicePixelRatio;
    pen.fillStyle = getComputedStyle(this.canvas).getPropertyValue('--text');
    pen.fillRect(at - 0.5 * devicePixelRatio, TOP, devicePixelRatio, this.canvas.height - BOTTOM * devicePixelRatio);
    const { row, part } = locate(this.times, t);
    for (const { values, output } of this.lines) output.textContent = short(values[part > 0.5 ? row + 1 : row]);
  }
}

function ticks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

function short(value) {
  return Math.abs(value) < 1e-14 ? '0' : String(Number(value.toPrecision(4)));
}
