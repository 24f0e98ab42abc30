/** The updater of this machine: whether one is there, takes the token of the agent, and what it did last. */
import { refusalOf, silenceOf } from '../../update/refusals.ts';
import { saidOutcome, type Outcome } from '../../update/outcomes.ts';
import { pinOf } from '../../update/update-time.ts';
import { askUpdater, UpdaterSilence, type UpdaterAnswer, type UpdaterPlace } from '../../update/updater-exchange.ts';
import { originOf } from './admin-answers.ts';
import { CHECK_MS_MAX, passed, warned, type Check, type Finding } from './check.ts';

/** The updater is asked for so long, in ms: less than the check has, so that its silence is told as what it is. */
const ASK_MS_MAX = (CHECK_MS_MAX - 500) / 2;

/** Most of a reason that is told, in characters. */
const REASON_CHARS_MAX = 300;

/** What it looks at. */
export interface UpdaterSources {
  readonly isEnabled: boolean;
  readonly url: string;
  readonly token: string | undefined;
  /** The file by which an operator keeps this machine at its version. */
  readonly pinPath: string;
}

/** One check: it changes nothing, and above all it begins no update. */
export function updaterCheck(sources: UpdaterSources): Check {
  return { name: 'updater', look: (signal) => updater(sources, signal) };
}

async function updater({ isEnabled, url, token, pinPath }: UpdaterSources, signal: AbortSignal): Promise<Finding> {
  if (!isEnabled)
    return passed('Self-updates are switched off (AGENT_SELF_UPDATE_ENABLED), so no updater is needed.', {
      is_enabled: false,
    });
  const details = { is_enabled: true, updater: originOf(url).slice(0, 256) };
  if (token === undefined)
    return warned(
      'Self-updates are enabled, and AGENT_UPDATER_TOKEN is not set: this machine is not updated.',
      'Set it to the token of the updater (AGENT_UPDATER_TOKEN_FILE reads it from a file), or unset AGENT_SELF_UPDATE_ENABLED.',
      details,
    );
  try {
    const found = await lookedAt({ url, token }, signal);
    return withPin(found, pinPath, details);
  } catch (error) {
    if (!(error instanceof UpdaterSilence)) throw error;
    return warned(
      sentence(silenceOf(error, { url, token })),
      'Start the updater and look into its log; commands and everything else of this machine go on without it.',
      details,
    );
  }
}

/** Ours says what came of its last update; Watchtower does not know the question. */
async function lookedAt(place: UpdaterPlace, signal: AbortSignal): Promise<Finding> {
  const ask = (path: string) => askUpdater(place, { method: 'GET', path, msMax: ASK_MS_MAX, signal });
  const outcome = await ask('/v1/outcome');
  if (outcome.status >= 200 && outcome.status < 300)
    return ownFinding(saidOutcome(outcome.text, place.token)?.outcome ?? null);
  if (outcome.status !== 404 && outcome.status !== 405) return refused(outcome, place);
  // A dry run, which may take Watchtower longer than a check has.
  const check = await ask('/v1/check').catch(() => null);
  if (check?.status === 401 || check?.status === 403) return refused(check, place);
  return check !== null && check.status >= 200 && check.status < 300
    ? passed('Watchtower answers, and takes the token.', { product: 'watchtower' })
    : passed(
        'An updater answers that says nothing of itself, such as Watchtower without its checks: whether it takes the token shows with the first update.',
        { product: null },
      );
}

function ownFinding(last: Outcome | null): Finding {
  const details = {
    product: 'edge-updater',
    last_outcome: last?.outcome ?? null,
    ...(last !== null && { from: last.from, to: last.to }),
  };
  if (last?.outcome === 'rolled_back')
    return warned(
      sentence(
        `the last update, from ${last.from} to ${last.to}, was taken back: ${(last.error ?? 'no reason was told').slice(0, REASON_CHARS_MAX)}`,
      ),
      'Repair what it names, or promote another release; the version before runs on meanwhile.',
      details,
    );
  if (last?.outcome === 'unchanged' && last.error !== null)
    return warned(
      sentence(`the last update could not be done, and nothing was changed: ${last.error.slice(0, REASON_CHARS_MAX)}`),
      'Repair what it names: this machine stays at its version until then.',
      details,
    );
  return passed('edge-updater answers, and takes the token.', details);
}

function refused(answer: UpdaterAnswer, place: UpdaterPlace): Finding {
  return warned(
    sentence(refusalOf(answer, place)),
    'Until then this machine is not updated; everything else of it goes on.',
    { status: answer.status },
  );
}

function withPin(found: Finding, pinPath: string, details: NonNullable<Finding['details']>): Finding {
  const pin = pinOf(pinPath);
  const all = { ...details, ...found.details, is_pinned: pin !== null };
  return pin !== null && found.status === 'pass'
    ? warned(
        'This machine is pinned to its version by a file in its data directory: requests to update it are refused.',
        `Remove ${pinPath} to have it updated.`,
        all,
      )
    : { ...found, details: all };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`;
}
