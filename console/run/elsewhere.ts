/** A form and a command for a terminal: as `edge` and as a request. Pure. */
import { commandLine, curlLine } from '../shell-words.ts';
import {
  limitsOf,
  namesIn,
  targetingOf,
  type KnownNodes,
  type PlaceKind,
  type RunForm,
  type Targeting,
} from './form.ts';

/** Ids that one line names; of more it says how it goes on. */
const IDS_MAX = 100;

/** Where it runs as long as the form does not say it, or not so that a command could: nowhere by mistake. */
const UNSAID: Record<PlaceKind, Targeting> = {
  all: { type: 'all' },
  clusters: { type: 'clusters', cluster_names: ['CLUSTER'] },
  group: { type: 'group', group: 'GROUP' },
  nodes: { type: 'nodes', node_ids: ['NODE'] },
  again: { type: 'nodes', node_ids: ['NODE'] },
};

/** `edge run` with the same words. */
export function runLine(form: RunForm): string {
  const { place, labels, status, timeout, expires, text } = form;
  return commandLine(
    'edge run',
    ...(place === 'all' ? ['--all'] : []),
    ...(place === 'clusters' ? ['-c', namesIn(form.clusters).join(',') || 'CLUSTER'] : []),
    ...(place === 'nodes' ? ['-n', firstOf(namesIn(form.nodes)).join(',') || 'NODE'] : []),
    ...(place === 'group' ? ['--in', form.group.trim() || 'GROUP'] : []),
    ...(place === 'again' ? ['--again', form.again, ...(form.onlyFailed ? ['--failed'] : [])] : []),
    // the nodes of an earlier command are not narrowed further there
    ...(place === 'again' || labels.trim() === '' ? [] : ['-l', labels.trim()]),
    ...(place === 'again' || status === null ? [] : ['-s', status]),
    ...(timeout.trim() === '' ? [] : ['--timeout', timeout.trim()]),
    ...(expires.trim() === '' ? [] : ['--expires', expires.trim()]),
    '--',
    text === '' ? 'COMMAND' : text,
  );
}

/** The same as a request to this origin. `nowMs`: Unix time, from which its expiry counts. */
export function runRequest(form: RunForm, known: KnownNodes, origin: string, nowMs: number): string {
  const targeting = targetingOf(form, known);
  const shown =
    typeof targeting === 'string'
      ? UNSAID[form.place]
      : targeting.node_ids === undefined
        ? targeting
        : { ...targeting, node_ids: firstOf(targeting.node_ids) };
  const body = {
    command_text: form.text === '' ? 'COMMAND' : form.text,
    targeting: shown,
    ...limitsOf(form, nowMs),
  };
  return curlLine(origin, '/commands', { method: 'POST', body });
}

function firstOf(ids: readonly string[]): readonly string[] {
  return ids.length > IDS_MAX ? [...ids.slice(0, IDS_MAX), '...'] : ids;
}
