/** What a machine and its agent measure: in the last hour, as its agent kept it, and while the page is open. */
import { useSignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import type { NodeResource } from '../../../actors/resources/node.ts';
import type { Live } from '../../live.ts';
import { loadUntilThere } from '../../loading.ts';
import { LoadAnew } from '../../parts/load-anew.tsx';
import { State } from '../../parts/state.tsx';
import { bytesOf } from '../../quantities.ts';
import { NODE } from '../../texts/node.ts';
import { TEXTS } from '../../texts.ts';
import type { ChartProps } from './chart.tsx';
import { summaryOf, type Measure, type Point } from './measured.ts';
import { useSamples } from './sampled.ts';
import { Section } from './section.tsx';

const T = NODE.charts;

/** One chart. */
interface Plan {
  readonly name: keyof typeof T.names;
  readonly measures: readonly Measure[];
  readonly shown: (value: number) => string;
  readonly highest: number | null;
}

const percent = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} %`;
const rate = (value: number): string => `${bytesOf(value)}/s`;

const PLANS: readonly Plan[] = [
  { name: 'cpu', measures: ['cpu', 'load'], shown: percent, highest: null },
  { name: 'space', measures: ['memory', 'disk'], shown: percent, highest: 100 },
  { name: 'network', measures: ['received', 'sent'], shown: rate, highest: null },
  { name: 'agent', measures: ['agent'], shown: bytesOf, highest: null },
];

/** All charts. The library that draws them is loaded when the first is seen. */
export function Charts({ live, node }: { readonly live: Live; readonly node: NodeResource }) {
  const { points, past, failure, isForbidden } = useSamples(live, node.id).value;
  const drawn = useSignal<{ readonly Chart: ComponentType<ChartProps> | null; readonly hasFailed: boolean }>({
    Chart: null,
    hasFailed: false,
  });
  useEffect(() => {
    if (isForbidden) return undefined;
    return loadUntilThere(
      () => import('./chart.tsx'),
      ({ Chart }) => (drawn.value = { Chart, hasFailed: false }),
      () => (drawn.value = { Chart: null, hasFailed: true }),
    );
  }, [isForbidden]);
  const { Chart, hasFailed } = drawn.value;
  return (
    <Section id="charts" title={T.title}>
      {isForbidden && <State text={T.forbidden} />}
      {!isForbidden && (
        <>
          {failure !== null && <State kind="failed" text={`${TEXTS.states.failed} ${failure}`} />}
          {hasFailed && (
            <p class="soft">
              {TEXTS.states.notLoaded} <LoadAnew />
            </p>
          )}
          {points.length === 0 && failure === null && <State kind="loading" text={T.loading} />}
          {points.length > 0 && (
            <div class="charts">
              {PLANS.map((plan) => (
                <ChartFigure key={plan.name} plan={plan} points={points} Chart={Chart} />
              ))}
            </div>
          )}
          <p class="soft">{past === true ? T.past : `${T.lead} ${past ?? ''}`}</p>
        </>
      )}
    </Section>
  );
}

interface FigureProps {
  readonly plan: Plan;
  readonly points: readonly Point[];
  /** Null: it is not loaded, and the table alone tells. */
  readonly Chart: ComponentType<ChartProps> | null;
}

/** A chart with what it shows as a table: now, or at the point that is looked at. */
function ChartFigure({ plan, points, Chart }: FigureProps) {
  const { name, measures, shown, highest } = plan;
  const place = useSignal<number | null>(null);
  const looked = place.value === null ? undefined : points[place.value];
  return (
    <figure>
      <figcaption>{T.names[name]}</figcaption>
      {Chart !== null && (
        <Chart
          points={points}
          measures={measures}
          shown={shown}
          highest={highest}
          onPoint={(next) => (place.value = next)}
        />
      )}
      <table>
        <thead>
          <tr>
            <th scope="col">
              <span class="unseen">{T.measure}</span>
            </th>
            <th scope="col" class="number">
              {looked === undefined ? T.now : new Date(looked.at * 1_000).toLocaleTimeString('en-GB')}
            </th>
            <th scope="col" class="number">
              {T.min}
            </th>
            <th scope="col" class="number">
              {T.max}
            </th>
          </tr>
        </thead>
        <tbody>
          {measures.map((measure, index) => {
            const summary = summaryOf(points, measure);
            const value = looked === undefined ? summary?.now : looked[measure];
            return (
              <tr key={measure}>
                <th scope="row" class={index === 0 ? 'first' : 'second'}>
                  {T.measures[measure]}
                </th>
                <td class="number">{typeof value === 'number' ? shown(value) : '–'}</td>
                <td class="number">{summary === null ? '–' : shown(summary.min)}</td>
                <td class="number">{summary === null ? '–' : shown(summary.max)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </figure>
  );
}
