/** A history in words, for a person who looks for the reason of a breach. */
import { unreachable } from '../../../actors/step.ts';
import { DATABASE, type Call, type Outcome, type Request } from './history.ts';

/** What it is about, in words. */
export function subjectOf(request: Request): string {
  if (!('resource' in request)) return `node ${short(request.node)}`;
  const { resource, scope, name } = request;
  return `${resource.replaceAll('_', ' ')} ${name}${scope === '' ? '' : ` of ${short(scope)}`}`;
}

/** One call in words, for a person who looks for the reason. */
export function told({ client, admin, operation, request, invokedMs, answeredMs, outcome }: Call): string {
  const who = client === DATABASE ? 'the rows at the end show' : `client ${client} asked ${admin} for ${operation}`;
  const when = client === DATABASE ? '' : ` (${seconds(invokedMs)} to ${seconds(answeredMs)} s)`;
  return `${who}${detailOf(request)}${when}: ${answerOf(outcome)}`;
}

function detailOf(request: Request): string {
  switch (request.verb) {
    case 'create':
      return ` under key ${request.key}${request.node === null ? '' : ` on node ${short(request.node)}`}`;
    case 'update':
      return ` to ${request.value}`;
    case 'move':
      return ` to ${request.cluster}`;
    case 'label':
      return ` ${request.label}=${request.value}`;
    case 'enrol':
      return ` into ${request.cluster} with ${request.recovery === null ? '' : 'a recovery key and '}${request.keyName}`;
    case 'show':
    case 'delete':
    case 'cancel':
    case 'show-node':
    case 'delete-node':
    case 'set-recovery':
    case 'clear-recovery':
      return '';
    default:
      return unreachable(request);
  }
}

function answerOf(outcome: Outcome): string {
  switch (outcome.type) {
    case 'ok':
      if (outcome.node !== undefined) return outcome.node === null ? 'none' : JSON.stringify(outcome.node);
      if (outcome.shown === undefined) return String(outcome.status);
      return outcome.shown.length === 0
        ? 'none'
        : outcome.shown
            .map(({ id, value, node }) =>
              [short(id), value, node === null ? null : short(node)].filter(Boolean).join(' '),
            )
            .join(' and ');
    case 'refused':
    case 'unavailable':
      return `${outcome.status} ${outcome.code}`;
    case 'doubt':
      return `no answer (${outcome.why})`;
    default:
      return unreachable(outcome);
  }
}

/** The end of an id: what tells those of version 7 apart. */
function short(id: string): string {
  return /^[\da-f-]{36}$/u.test(id) ? `…${id.slice(-6)}` : id;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}
