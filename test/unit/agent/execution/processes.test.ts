/** Which processes are an execution's, in tables of processes that are made up. */
import test from 'ava';
import { membersOf, type ProcessEntry } from '../../../../agent/execution/processes.ts';

const MARKED = 'HOME=/\0EDGE_EXECUTION_ID=one\0';
const SHIM = 'EDGE_KEEPER=k\0HOME=/\0';

/** A process of the session 500 that has dropped its environment, and whose parent is dead. */
function processEntry(pid: number, more: Partial<ProcessEntry> = {}): ProcessEntry {
  return { pid, parent: 1, session: 500, startTicks: pid, environment: '', ...more };
}

const leftover = processEntry(510);

for (const [what, processes, more, members] of [
  ['its exec shim leads the session', [processEntry(500, { environment: SHIM }), leftover], {}, [510]],
  [
    'its exec shim is dead, and another one there bears its mark',
    [leftover, processEntry(511, { environment: MARKED })],
    {},
    [510, 511],
  ],
  [
    'its exec shim is dead, and the output is still read there',
    [leftover, processEntry(501, { environment: SHIM })],
    {},
    [510],
  ],
  [
    'its exec shim is dead, and one there was seen before',
    [leftover, processEntry(512)],
    { seen: ['512.512'] },
    [510, 512],
  ],
  ['its exec shim is dead, and this agent saw it live', [leftover], { isShimSeen: true }, [510]],
  ['its exec shim is dead, and nobody there is known', [leftover], {}, []],
  ['a stranger leads the session', [processEntry(500), leftover], {}, []],
  [
    'a stranger leads the session since this agent saw the exec shim live',
    [processEntry(500), leftover],
    { isShimSeen: true },
    [],
  ],
  ['one was seen before, and a stranger has its number now', [leftover], { seen: ['510.9'] }, []],
  ['its exec shim never said its number', [leftover], { shimPid: null }, []],
] as const) {
  const { seen, ...membership } = { seen: [], shimPid: 500, isShimSeen: false, ...more };

  test(`processes of an execution where ${what}: ${members.length === 0 ? 'none' : members.join(' and ')}`, (t) => {
    const found = membersOf({ execution: 'one', shim: 'k', ...membership }, processes, new Set(seen));

    t.deepEqual(
      found.map(({ pid }) => pid).toSorted((a, b) => a - b),
      [...members],
    );
  });
}
