/** An API server over rows in memory, with the surfaces that a test mounts on it. */
import type { Clock } from '../../../actors/ports.ts';
import type { Addressed } from '../../../actors/messages.ts';
import { ok, refuse, type Result } from '../../../actors/refusal.ts';
import type { GateSettings } from '../../../api/principals.ts';
import { createApi, type Api, type Mount } from '../../../api/rest/server.ts';
import { recordingLog } from '../log.ts';
import type { Scope } from '../scope.ts';
import { fakePorts, fakeSettings } from './fakes.ts';
import { createFixture, type Fixture } from './rows.ts';
import type { Reads, OperationPorts } from '../../../api/ports.ts';

/** An API server, its rows, and what was asked of actors. */
export interface Served {
  readonly url: string;
  readonly api: Api;
  readonly fixture: Fixture;
  readonly log: ReturnType<typeof recordingLog>;
  /** Everything that was asked of actors, oldest first. */
  readonly asked: Addressed[];
  /** What actors answer. */
  answer: (asked: Addressed) => Result<unknown>;
}

/** Starts it on a free port; the test ends it. */
export async function serve(
  t: Scope,
  {
    mounts = () => [],
    gate = {},
  }: {
    readonly mounts?: (fixture: Fixture, clock: Clock) => readonly Mount[];
    readonly gate?: Partial<GateSettings>;
  } = {},
): Promise<Served> {
  const fixture = createFixture();
  const log = recordingLog();
  const asked: Addressed[] = [];
  const served = {
    fixture,
    log,
    asked,
    answer: (): Result<unknown> => refuse('not_found', 'Resource not found'),
  } as unknown as { -readonly [Key in keyof Served]: Served[Key] };
  const ask = (async (build) => {
    const addressed = build(1 as never);
    asked.push(addressed);
    return Promise.resolve(served.answer(addressed));
  }) as OperationPorts['ask'];
  const ports = fakePorts(
    {
      ports: { ask },
      reads: readsOf(fixture),
      records: { deleteExecution: () => Promise.resolve(refuse('not_found', 'Resource not found')) },
      operations: { defaultClusterName: 'demo', publicEnrollmentKeyEnabled: true },
    },
    realClock,
  );
  const api = createApi({
    ports,
    log,
    mounts: mounts(fixture, realClock),
    settings: fakeSettings({ settings: { bodyBytesMax: 1_048_576, docsEnabled: false }, gate }),
  });
  served.api = api;
  served.url = await api.listen('127.0.0.1', 0);
  t.teardown(() => api.close());
  return served;
}

/** Time as it is. */
export const realClock: Clock = {
  nowMs: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref();
    return () => clearTimeout(timer);
  },
};

/** Reads of the rows that the fixture has; other lists are empty. */
function readsOf(fixture: Fixture): Pick<Reads, 'list' | 'get'> {
  const rowsOf = (name: string): readonly unknown[] => {
    if (fixture.failing) throw new Error('a cause that nobody may see');
    if (name === 'nodes') return [...fixture.nodes.values()];
    if (name === 'commands') return [...fixture.commands.values()];
    return name === 'command_executions' ? [...fixture.executions.values()] : [];
  };
  return {
    list: (async (name: string, { page, pageSize }: { readonly page: number; readonly pageSize: number }) => {
      const rows = rowsOf(name);
      return Promise.resolve({ rows: rows.slice((page - 1) * pageSize, page * pageSize), totalCount: rows.length });
    }) as Reads['list'],
    get: (async (name: string, key: string) =>
      Promise.resolve(rowsOf(name).find((row) => (row as { readonly id: string }).id === key) ?? null)) as Reads['get'],
  };
}

/** A create that worked: the answer of `create_command`. */
export function answerWith(value: unknown): () => Result<unknown> {
  return () => ok(value);
}
