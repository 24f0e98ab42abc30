/** Who is signed in to the console, and how to end that. */
import { curlOfList } from '../lists/terminal.ts';
import { Ago } from '../parts/ago.tsx';
import { Asked } from '../parts/asked.tsx';
import { confirmed } from '../parts/confirm.tsx';
import { Elsewhere } from '../parts/elsewhere.tsx';
import { Heading } from '../parts/heading.tsx';
import { leave } from '../parts/leaving.ts';
import { notify } from '../parts/notice.tsx';
import { toRow } from '../parts/row-keys.ts';
import { usePolled } from '../poll.ts';
import { endSession, listSessions, type SessionRow } from '../session.ts';
import { commandLine } from '../shell-words.ts';
import { TEXTS } from '../texts.ts';

const T = TEXTS.sessions;

/** Sessions of one answer to `curl`: as many as a page of a list has at most. */
const PAGE_SIZE = 100;

/** What `edge` and `curl` take for the order of the page: who used theirs last stands first. */
const SORT = '-last_used_at';

/** All sessions, of every admin. */
export function SessionsPage() {
  const polled = usePolled(async () => {
    const rows = await listSessions();
    if (rows === null) throw new Error(TEXTS.signIn.unreached);
    return rows;
  });
  const { data, failure, again } = polled.value;
  const end = async ({ id, is_current: isCurrent, address, principal }: SessionRow): Promise<void> => {
    if (isCurrent) return leave();
    const question = { title: T.endOf(address), text: T.ends(principal), action: T.end, isDangerous: true };
    if (!(await confirmed(question))) return;
    notify((await endSession(id)) ? { text: T.ended(address) } : { text: T.notEnded, kind: 'failed' });
    again();
  };
  return (
    <>
      <Heading text={TEXTS.pages.sessions} />
      <p class="lead">{T.lead}</p>
      <Elsewhere
        cli={commandLine('edge console-session ls', '--sort', SORT)}
        curl={curlOfList(location.origin, '/console_sessions', { sort: SORT, page_size: PAGE_SIZE })}
      />
      {(data === null || failure !== null) && <Asked polled={polled.value} />}
      {data !== null && <Table rows={data} end={(row) => void end(row)} />}
    </>
  );
}

interface TableProps {
  readonly rows: readonly SessionRow[];
  readonly end: (row: SessionRow) => void;
}

function Table({ rows, end }: TableProps) {
  return (
    <div class="scroll" role="region" aria-label={TEXTS.pages.sessions} tabIndex={0} onKeyDown={toRow}>
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
