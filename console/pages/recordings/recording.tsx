/** One recording: whose it is, and what it shows, played. */
import type { SshRecordingResource } from '../../../actors/resources/ssh.ts';
import type { Live } from '../../live.ts';
import { doneIfConfirmed } from '../../parts/acts.tsx';
import { Ago } from '../../parts/ago.tsx';
import { Asked } from '../../parts/asked.tsx';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { Heading } from '../../parts/heading.tsx';
import { State } from '../../parts/state.tsx';
import type { PageProps } from '../../page-props.ts';
import { usePolled } from '../../poll.ts';
import { bytesOf, durationOf } from '../../quantities.ts';
import { useLead } from '../../parts/there.ts';
import { addressOf } from '../../routes.ts';
import { commandLine, curlLine } from '../../shell-words.ts';
import { RECORDINGS as T } from '../../texts/recordings.ts';
import { tapeOf } from '../../recordings/tape.ts';
import { Played } from './played.tsx';

/** Asked once: a recording does not change. */
export function RecordingPage({ live, id }: PageProps) {
  const lead = useLead();
  const polled = usePolled(() => live.api.get_ssh_recording.query({ id }), id, { isOnce: true });
  const { data } = polled.value;
  return (
    <>
      <Heading text={data === null ? T.title : T.of(data.username)}>
        {data !== null && (
          <button type="button" class="danger" onClick={() => void remove(live, data, lead)}>
            {T.remove}
          </button>
        )}
      </Heading>
      <Elsewhere
        cli={commandLine('edge recording play', id)}
        curl={curlLine(location.origin, `/ssh_recordings/${encodeURIComponent(id)}`)}
      />
      <Asked polled={polled.value} />
      {data !== null && <Shown recording={data} />}
    </>
  );
}

function Shown({ recording }: { readonly recording: SshRecordingResource }) {
  const { node_id: node, command, started_at: at, duration_ms: ms, size_bytes: bytes, truncated, cast } = recording;
  const tape = cast === null ? null : tapeOf(cast);
  return (
    <>
      <p class="soft">
        <a href={addressOf('node', { id: node })}>{T.columns.node}</a>, <bdi>{command ?? T.shell}</bdi>, <Ago at={at} />
        , {durationOf(ms / 1_000)}, {bytesOf(bytes)}
      </p>
      {tape === null ? <State kind="failed" text={T.none} /> : <Played tape={tape} />}
      {truncated && <p class="soft">{T.truncated}</p>}
    </>
  );
}

async function remove(
  live: Live,
  { id, username }: SshRecordingResource,
  lead: (address: string) => void,
): Promise<void> {
  const isDone = await doneIfConfirmed(
    { title: T.removeTitle, text: T.removeText, items: [username], name: username, action: T.remove },
    () => live.api.delete_ssh_recording.mutate({ id }),
    T.removed,
  );
  if (isDone) lead(addressOf('recordings'));
}
