/** One chart, drawn by uPlot. What it shows stands as text beside it: this is a picture for those who see it. */
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { theme } from '../../theme.ts';
import type { Measure, Point } from './measured.ts';
import { lineOf } from './past.ts';

/** CSS pixels. */
const HEIGHT_PX = 150;
const AXIS_PX = 64;

/** At least so much time is drawn, in s: the first point alone has none. */
const SPAN_S_MIN = 60;

/** The width of a line, and the strokes of the second one: colour alone tells nobody who does not see it. */
const LINE_PX = 1.75;
const DASHES = [5, 4];

/** What is drawn. */
export interface ChartProps {
  readonly points: readonly Point[];
  /** The first is a line, the second dashes. */
  readonly measures: readonly Measure[];
  /** What stands beside its axis. */
  readonly shown: (value: number) => string;
  /** The highest value of the axis; null: as the points need it. */
  readonly highest: number | null;
  /** Which point is looked at; null: none. */
  readonly onPoint: (place: number | null) => void;
}

/** A picture as wide as its place. */
export function Chart(props: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<UPlot | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const made = new UPlot(
      optionsOf(props, element, (place) => latest.current.onPoint(place)),
      dataOf(props),
      element,
    );
    chart.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT_PX }));
    observer.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const recolour = (): void => made.redraw(false, true);
    dark.addEventListener('change', recolour);
    const forget = theme.subscribe(recolour);
    return () => {
      observer.disconnect();
      dark.removeEventListener('change', recolour);
      forget();
      made.destroy();
      chart.current = null;
    };
  }, []);
  useEffect(() => chart.current?.setData(dataOf(props)), [props.points]);
  return <div ref={box} class="chart" aria-hidden="true" />;
}

function dataOf({ points, measures }: ChartProps): UPlot.AlignedData {
  return [points.map(({ at }) => at), ...measures.map((measure) => lineOf(points, measure))];
}

function optionsOf(
  { measures, shown, highest }: ChartProps,
  element: HTMLElement,
  onPoint: ChartProps['onPoint'],
): UPlot.Options {
  // asked at each drawing, as colours change with the theme, and as a colour of the element: a canvas knows no
  // variables
  const colour = (name: string) => () => {
    element.style.color = `var(${name})`;
    return getComputedStyle(element).color;
  };
  const axis: UPlot.Axis = {
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: spanOf },
      y: { range: (_chart, _min, max) => [0, highest ?? Math.max(max * 1.1, 1)] },
    },
    axes: [
      { ...axis, space: 80, values: (_chart, seconds) => seconds.map(clockOf) },
      { ...axis, size: AXIS_PX, space: 36, values: (_chart, values) => values.map(shown) },
    ],
    series: [
      {},
      ...measures.map((_measure, place) => ({
        stroke: colour(place === 0 ? '--accent' : '--second'),
        width: LINE_PX,
        ...(place > 0 && { dash: DASHES }),
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  };
}

/** From the first point to the last. uPlot would give a single one a whole day. */
function spanOf({ data: [times] }: UPlot, min: number, max: number): [number, number] {
  const [first, last] = [times[0], times.at(-1)];
  return first === undefined || last === undefined ? [min, max] : [Math.min(first, last - SPAN_S_MIN), last];
}

function clockOf(seconds: number): string {
  return new Date(seconds * 1_000).toLocaleTimeString('en-GB');
}
