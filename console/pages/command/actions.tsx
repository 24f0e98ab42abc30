/** What can be done about a command. */
import { problemOf } from '../../failure.ts';
import type { CommandResource, CommandSummary } from '../../../actors/resources/command.ts';
import type { Live } from '../../live.ts';
import { typedNameOf } from '../../fleet/node-actions.ts';
import { confirmed } from '../../parts/confirm.tsx';
import { copied } from '../../parts/elsewhere.tsx';
import { notify } from '../../parts/notice.tsx';
import { addressOf } from '../../routes.ts';
import { runAddress } from '../../run/form.ts';
import { RUN } from '../../texts/run.ts';

const T = RUN.command;

/** Characters of its id that somebody types before it is deleted. */
const TYPED_ID_CHARACTERS = 8;

/** From so many nodes on it is also typed before a command is cancelled that runs on none of them. */
const TYPED_NODES_MIN = 10;

/** Buttons and links; what makes no sense now is not there. */
export function Actions({
  live,
  command: { id },
  summary,
  lead,
}: {
  readonly live: Live;
  readonly command: CommandResource;
  readonly summary: CommandSummary;
  /** Of the page, as these are gone once the command is, which may be told before the answer. */
  readonly lead: (address: string) => void;
}) {
  const open = summary.pending + summary.sent;
  const failed = summary.failed + summary.cancelled + summary.expired;
  return (
    <div class="actions">
      {open > 0 && (
        <button type="button" onClick={() => void cancel(live, id, summary)}>
          {T.cancel}
        </button>
      )}
      {failed > 0 && (
        <a class="button" href={runAddress({ place: 'again', again: id, onlyFailed: true })}>
          {T.againFailed}
        </a>
      )}
      <a class="button" href={runAddress({ place: 'again', again: id })}>
        {T.again}
      </a>
      <a class="button" href={addressOf('executions', { search: `?command_id__in=${id}` })}>
        {T.executions}
      </a>
      <button type="button" onClick={() => void copied(location.href)}>
        {T.share}
      </button>
      {open === 0 && (
        <button type="button" onClick={() => void remove(live, id, lead)}>
          {T.remove}
        </button>
      )}
    </div>
  );
}

async function cancel(live: Live, id: string, { pending, sent }: CommandSummary): Promise<void> {
  const { title, text, action } = T.confirmCancel;
  const open = pending + sent;
  const isTyped = sent > 0 || open >= TYPED_NODES_MIN; // work that runs is lost
  const name = isTyped ? { name: id.slice(0, TYPED_ID_CHARACTERS) } : {};
  if (!(await confirmed({ title, text: text(open), ...name, action, isDangerous: true }))) return;
  await told(live.api.cancel_command.mutate({ id }), T.cancelled);
}

async function remove(live: Live, id: string, lead: (address: string) => void): Promise<void> {
  const name = id.slice(0, TYPED_ID_CHARACTERS);
  if (!(await confirmed({ ...T.confirmRemove, name, action: T.remove, isDangerous: true }))) return;
  if (await told(live.api.delete_command.mutate({ id }), T.removed)) lead(addressOf('commands'));
}

interface CancelOneProps {
  readonly live: Live;
  readonly execution: string;
  /** What its node is called. */
  readonly name: string;
  /** The node, by its id, where it runs there; null: it only waited when this was drawn. */
  readonly runsOn: string | null;
}

/** Calls off what one node was to run, at once, or ends what it runs, once its name is typed. */
export function CancelOne(props: CancelOneProps) {
  return (
    <button type="button" aria-label={RUN.group.cancelOne(props.name)} onClick={() => void cancelOne(props)}>
      {T.cancel}
    </button>
  );
}

async function cancelOne({ live, execution, name, runsOn }: CancelOneProps): Promise<void> {
  const { title, text, action } = T.confirmCancelOne;
  const asked = await runningOn(live, execution, runsOn);
  if (asked === undefined) return;
  if (asked !== null) {
    const typed = typedNameOf({ name: name === asked ? '' : name, id: asked });
    if (!(await confirmed({ title: title(name), text, name: typed, action, isDangerous: true }))) return;
  }
  await told(live.api.cancel_command_execution.mutate({ id: execution }), T.cancelled);
}

/** The node on which it runs by now; null: it still waits; undefined: nobody knows, which is said. */
async function runningOn(live: Live, id: string, drawn: string | null): Promise<string | null | undefined> {
  if (drawn !== null) return drawn;
  try {
    const { status, node_id: node } = await live.now.get_command_execution.query({ id });
    return status === 'sent' ? node : null;
  } catch (error) {
    notify({ text: T.failed(problemOf(error)), kind: 'failed' });
    return undefined;
  }
}

/** Says what came of it. Whether it was done. */
async function told(doing: Promise<unknown>, done: string): Promise<boolean> {
  try {
    await doing;
    notify({ text: done });
    return true;
  } catch (error) {
    notify({ text: T.failed(problemOf(error)), kind: 'failed' });
    return false;
  }
}
