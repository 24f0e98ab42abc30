/** Lines over time as SVG, drawn here: no script, no picture from elsewhere. */
import { escape } from '../docs/layout.ts';

/** Size of a plot, in units of its own; it scales with the page. */
const WIDTH = 600;
const HEIGHT = 140;
const LEFT = 56;
const BOTTOM = 18;
const TOP = 8;

/** One line. */
export interface Series {
  readonly name: string;
  /** A variable of the style, such as `--accent`. */
  readonly colour: string;
  readonly values: readonly number[];
}

/** What a plot shows. */
export interface Plot {
  readonly title: string;
  readonly series: readonly Series[];
  /** A value with its unit. */
  readonly text: (value: number) => string;
  /** Times of the first and the last value. */
  readonly from: string;
  readonly to: string;
}

/** A figure with a drawing for eyes and its last values in words for everybody. */
export function plot({ title, series, text, from, to }: Plot): string {
  const top = niceTop(Math.max(0, ...series.flatMap(({ values }) => values)));
  const lines = series.map(
    ({ colour, values }) =>
      `<polyline fill="none" stroke="var(${colour})" stroke-width="1.5" points="${values.map((value, index) => point(value / top, values.length < 2 ? 0 : index / (values.length - 1))).join(' ')}"/>`,
  );
  const marks = [0, 0.5, 1].map(
    (share) =>
      `<line x1="${LEFT}" x2="${WIDTH}" y1="${y(share)}" y2="${y(share)}" stroke="var(--line)"/><text x="${LEFT - 6}" y="${y(share) + 4}" text-anchor="end">${escape(text(share * top))}</text>`,
  );
  const words = series.map(
    ({ name, colour, values }) =>
      `<span class="key" style="--key:var(${colour})">${escape(name)} <b>${values.length === 0 ? 'none yet' : escape(text(values.at(-1) ?? 0))}</b></span>`,
  );
  return `<figure><figcaption>${escape(title)}: ${words.join(' ')}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escape(title)} from ${escape(from)} to ${escape(to)}">${marks.join('')}${lines.join('')}<text x="${LEFT}" y="${HEIGHT - 3}">${escape(from)}</text><text x="${WIDTH}" y="${HEIGHT - 3}" text-anchor="end">${escape(to)}</text></svg></figure>`;
}

function point(up: number, along: number): string {
  return `${(LEFT + along * (WIDTH - LEFT)).toFixed(1)},${y(up)}`;
}

function y(up: number): number {
  return Number((TOP + (1 - up) * (HEIGHT - TOP - BOTTOM)).toFixed(1));
}

/** The next of 1, 2, 5 times a power of ten; 1 for nothing. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}
