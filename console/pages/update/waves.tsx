/** The waves of an update: how far each is, when it began, and what the next one waits for. */
import type {
  SelfUpdateNext,
  SelfUpdateRequestResource,
  SelfUpdateWave,
} from '../../../actors/resources/self-update.ts';
import { nowMs } from '../../clock.ts';
import { Ago } from '../../parts/ago.tsx';
import { toRow } from '../../parts/row-keys.ts';
import { aheadOf, exactly } from '../../relative-time.ts';
import { addressOf } from '../../routes.ts';
import { UPDATES } from '../../texts/updates.ts';

const T = UPDATES.waves;

/** How a wave is. */
type WaveState = keyof typeof T.states;

/** The look of each: that of a result that says the same. */
const LOOK: Readonly<Record<WaveState, string>> = {
  waiting: '',
  underWay: 'draining',
  failed: 'unreachable',
  done: 'healthy',
  skipped: 'gone',
};

/** Those that the service names; nothing of a request of a release before. */
export function Waves({ request }: { readonly request: SelfUpdateRequestResource }) {
  const { id, waves = [], wave_count: count = 0, next } = request;
  if (waves.length === 0) return null;
  return (
    <section aria-labelledby="waves">
      <h2 id="waves">{T.title(count)}</h2>
      {next != null && (
        <Next next={next} began={waves.some(({ wave, began_at: at }) => wave === next.wave && at !== null)} />
      )}
      {count > waves.length && <p class="soft">{T.shown(waves.at(0)?.wave ?? 1, waves.at(-1)?.wave ?? 1)}</p>}
      <div class="scroll" role="region" aria-label={T.label} tabIndex={0} onKeyDown={toRow}>
        <table class="waves">
          <thead>
            <tr>
              {Object.entries(T.columns).map(([column, title]) => (
                <th key={column} scope="col" class={NUMBERS.has(column) ? 'number' : ''}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {waves.map((wave) => (
              <Wave key={wave.wave} id={id} wave={wave} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

const NUMBERS: ReadonlySet<string> = new Set(['waiting', 'underWay', 'done', 'failed', 'skipped']);

function Wave({ id, wave }: { readonly id: string; readonly wave: SelfUpdateWave }) {
  const state = stateOf(wave);
  const counts = [wave.waiting, wave.under_way, wave.done, wave.failed, wave.skipped];
  return (
    <tr>
      <th scope="row">
        <a href={addressOf('update', { id, search: `?wave=${wave.wave}` })}>{T.wave(wave.wave)}</a>
      </th>
      <td>
        <span class={`status ${LOOK[state]}`}>{T.states[state]}</span>
      </td>
      {counts.map((count, index) => (
        <td key={index} class="number">
          {count.toLocaleString('en')}
        </td>
      ))}
      <td>{wave.began_at !== null && <Ago at={wave.began_at} />}</td>
    </tr>
  );
}

/** What is under way stands before what failed: it may still be waited for. */
function stateOf({ waiting, under_way: underWay, done, failed, skipped }: SelfUpdateWave): WaveState {
  if (underWay > 0) return 'underWay';
  if (waiting > 0) return done + failed > 0 ? 'underWay' : 'waiting';
  if (failed > 0) return 'failed';
  return done === 0 && skipped > 0 ? 'skipped' : 'done';
}

function Next({ next, began }: { readonly next: SelfUpdateNext; readonly began: boolean }) {
  const { wave, waiting, under_way: underWay, judged_by: by } = next;
  return (
    <p class="next-wave">
      {began ? T.goesOn(wave, waiting, underWay) : T.begins(wave, waiting, underWay)}
      {by !== null && (
        <>
          {' '}
          <time datetime={by} title={exactly(by)}>
            {T.latest(aheadOf(by, nowMs.value))}
          </time>
        </>
      )}
    </p>
  );
}
