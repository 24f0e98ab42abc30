/** Why an update did not begin, each in one line that says what to do. None of them holds the token (E4). */
import { UPDATE_ERROR_CHARS_MAX } from '../../transport/protocol/limits.ts';
import { ANSWER_BYTES_MAX, type UpdaterAnswer, type UpdaterPlace, type UpdaterSilence } from './updater-exchange.ts';

/** Of what an updater says for itself, in characters. */
const SAID_CHARS_MAX = 300;

/** What moves a cursor, starts a line or hides what follows on a terminal. */
const CONTROLS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

/** Why an answer other than a 2xx means that no update began. */
export function refusalOf(answer: UpdaterAnswer, place: UpdaterPlace): string {
  const { status } = answer;
  const at = `the updater at ${place.url}`;
  switch (status) {
    case 401:
    case 403:
      return `${at} refuses the token (${status}): AGENT_UPDATER_TOKEN of the agent is another one than that of the updater`;
    case 404:
      return `what listens at ${place.url} takes no updates (404): start edge-updater, or Watchtower with its HTTP API for updates switched on, or set AGENT_UPDATER_URL to where yours listens`;
    case 405:
      return `what listens at ${place.url} takes no POST of /v1/update (405): set AGENT_UPDATER_URL to where an updater listens`;
    case 408:
      return `${at} gave up, as the update took it too long (408)${said(answer, place)}: look into its log`;
    case 429:
      return `${at} is busy with another update (429) for longer than can be waited for: request the update again later`;
    default:
      return status >= 300 && status < 400
        ? `${at} answers with a redirect (${status}), which is not followed: set AGENT_UPDATER_URL to where it leads`
        : `${at} failed (${status})${said(answer, place)}: look into its log`;
  }
}

/** Why there was no answer. */
export function silenceOf(silence: UpdaterSilence, { url }: UpdaterPlace): string {
  return isNobodyThere(silence)
    ? `no updater listens at ${url}: install edge-updater, or set AGENT_UPDATER_URL to where yours listens`
    : `the updater at ${url} cannot be asked: ${silence.message}`;
}

/** Whether no program listens there, so that none can have heard anything. */
export function isNobodyThere({ cause }: UpdaterSilence): boolean {
  const { code, errors } = (cause ?? {}) as { code?: string; errors?: readonly { code?: string }[] };
  return code === 'ECONNREFUSED' || errors?.every((error) => error.code === 'ECONNREFUSED') === true;
}

/**
 * Foreign words as a part of a line: cut, without what would change a terminal, and without the token if it is in them.
 */
export function cleanWords(text: string, token: string, charactersMax: number = UPDATE_ERROR_CHARS_MAX): string {
  const safe = (token === '' ? text : text.replaceAll(token, '***')).replaceAll(CONTROLS, ' ').trim();
  return safe.length > charactersMax ? `${safe.slice(0, charactersMax - 1)}…` : safe;
}

/** An `error` of a JSON answer, or a short text. Source: the answers of Watchtower, and of edge-updater. */
function said({ text }: UpdaterAnswer, { token }: UpdaterPlace): string {
  const words = errorIn(text) ?? (text.startsWith('<') || text.length >= ANSWER_BYTES_MAX ? '' : text);
  const clean = cleanWords(words, token, SAID_CHARS_MAX);
  return clean === '' ? '' : `, and says: ${clean}`;
}

function errorIn(text: string): string | null {
  try {
    const body = JSON.parse(text) as { readonly error?: unknown; readonly message?: unknown } | null;
    const error = body?.error ?? body?.message;
    if (typeof error === 'string') return error;
    const inner = (error as { readonly message?: unknown } | null | undefined)?.message;
    return typeof inner === 'string' ? inner : null;
  } catch {
    return null;
  }
}
