/** Who is signed in to the console, and how to end that. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Ago } from '../parts/ago.tsx';
import { confirmed } from '../parts/confirm.tsx';
import { Heading } from '../parts/heading.tsx';
import { leave } from '../parts/leaving.ts';
import { notify } from '../parts/notice.tsx';
import { State } from '../parts/state.tsx';
import { endSession, listSessions, type SessionRow } from '../session.ts';
import { TEXTS } from '../texts.ts';

const T = TEXTS.sessions;

/** All sessions, of every admin. */
export function SessionsPage() {
  const rows = useSignal<readonly SessionRow[] | 'loading' | 'failed'>('loading');
  const read = async (): Promise<void> => {
    rows.value = (await listSessions()) ?? 'failed';
  };
  useEffect(() => void read(), []);
  const end = async ({ id, is_current: isCurrent, address, principal }: SessionRow): Promise<void> => {
    if (isCurrent) return leave();
    const question = { title: T.endOf(address), text: T.ends(principal), action: T.end, isDangerous: true };
    if (!(await confirmed(question))) return;
    notify((await endSession(id)) ? { text: T.ended(address) } : { text: T.notEnded, kind: 'failed' });
    return read();
  };
  return (
    <>
      <Heading text={TEXTS.pages.sessions} />
      <p class="lead">{T.lead}</p>
      {rows.value === 'loading' && <State kind="loading" text={TEXTS.states.loading} />}
      {rows.value === 'failed' && (
        <State kind="failed" text={TEXTS.states.failed}>
          <button type="button" onClick={() => void read()}>
            {TEXTS.states.again}
          </button>
        </State>
      )}
      {typeof rows.value !== 'string' && <Table rows={rows.value} end={(row) => void end(row)} />}
    </>
  );
}

interface TableProps {
  readonly rows: readonly SessionRow[];
  readonly end: (row: SessionRow) => void;
}

function Table({ rows, end }: TableProps) {
  return (
    <div class="scroll" role="region" aria-label={TEXTS.pages.sessions} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {Object.entries(T.columns).map(([column, title]) => (
              <th key={column} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td>
                {row.principal} {row.is_current && <em>{T.mine}</em>}
              </td>
              <td>{row.address}</td>
              <td class="long">{row.user_agent}</td>
              <td>
                <Ago at={row.inserted_at} />
              </td>
              <td>
                <Ago at={row.last_used_at} />
              </td>
              <td>
                <button type="button" aria-label={T.endOf(row.address)} onClick={() => end(row)}>
                  {T.end}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
