/** Clients that ask admins by chance, the same things for the same seed, and note what they were told. */
import { setTimeout as delay } from 'node:timers/promises';
import type { EnrollmentKeyResource } from '../../../actors/resources/enrollment-key.ts';
import type { ExecutionResource } from '../../../actors/resources/command.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient, type Rest } from '../../support/fleet/rest.ts';
import { seededNumbers } from '../../support/seeded.ts';
import { ACTIONS } from './actions.ts';
import type { Hand } from './hand.ts';
import type { Call, Request } from './history.ts';
import type { Landscape } from './landscape.ts';
import { lost, outcomeOf, questionOf } from './questions.ts';
import type { Recorder } from './recorder.ts';
import type { SimulatedNodes } from './simulated-nodes.ts';

/** Times that what was not answered is asked for again, elsewhere. */
const TRIES_MAX = 3;

/** Of so many reads of executions one is followed by a reading of an output as it comes. */
const TAILED_OF = 4;

/**
 * A client waits so long at most between two actions, in ms: as much as two processors serve beside admins and agents.
 */
const REST_MS_MAX = 60;

/** What all clients share. */
export interface Service {
  readonly admins: readonly AdminProgram[];
  readonly recorder: Recorder;
  readonly land: Landscape;
  readonly nodes: SimulatedNodes;
  watch(admin: AdminProgram, command: string): void;
  tail(admin: AdminProgram, execution: string): void;
}

/** One of them. Numbers are drawn in one order, whatever is answered. */
export class Client implements Hand {
  readonly land: Landscape;
  readonly nodes: SimulatedNodes;
  readonly number: () => number;
  readonly #place: number;
  readonly #service: Service;
  /** Which admin is asked: apart, since it hangs on how often something is asked for again. */
  readonly #admins: () => number;
  readonly #rests = new Map<string, Rest>();
  #marks = 0;

  constructor(place: number, seed: number, service: Service) {
    this.#place = place;
    this.#service = service;
    this.land = service.land;
    this.nodes = service.nodes;
    this.number = spread(seed * 1_000 + place * 2);
    this.#admins = spread(seed * 1_000 + place * 2 + 1);
  }

  /** Asks until it is told to stop. */
  async run(isOver: () => boolean): Promise<void> {
    const total = ACTIONS.reduce((sum, [weight]) => sum + weight, 0);
    while (!isOver()) {
      let left = this.number() % total;
      const [, act] = ACTIONS.find(([weight]) => (left -= weight) < 0) ?? [0, () => Promise.resolve()];
      await act(this);
      await delay(this.number() % REST_MS_MAX);
    }
  }

  id(): string {
    const words = [this.number(), this.number(), this.number(), this.number()].map((word) =>
      word.toString(16).padStart(8, '0'),
    );
    const hex = words.join('');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  nowMs(): number {
    return this.#service.recorder.nowMs();
  }

  mark(): string {
    this.#marks += 1;
    return `mark-${this.#place}-${this.#marks}`;
  }

  async ask(
    request: Request,
    cluster: string | null,
    { body, again = false }: { readonly body?: object; readonly again?: boolean } = {},
  ): Promise<Call> {
    let call = await this.#asked(request, cluster, body);
    for (let left = again ? TRIES_MAX - 1 : 0; left > 0 && isUnanswered(call); left -= 1)
      call = await this.#asked(request, cluster, body);
    return call;
  }

  async see(command: string): Promise<void> {
    const { recorder } = this.#service;
    const { name: admin, rest } = this.#admin();
    const invokedMs = recorder.nowMs();
    const path = `/command_executions?command_id__in=${command}&page_size=100`;
    const answer = await rest.call<readonly ExecutionResource[]>('GET', path).catch(() => null);
    if (answer?.status !== 200) return;
    const answeredMs = recorder.nowMs();
    for (const { id: execution, node_id: node, status, exit_code: exitCode } of answer.data)
      recorder.observations.push({ execution, command, node, status, exitCode, admin, invokedMs, answeredMs });
    const [first] = answer.data;
    if (first !== undefined && this.number() % TAILED_OF === 0) this.#service.tail(this.#drawn(), first.id);
  }

  async blob(id: string): Promise<string | null> {
    const answer = await this.#admin()
      .rest.call<EnrollmentKeyResource>('GET', `/enrollment_keys/${id}`)
      .catch(() => null);
    return answer?.status === 200 ? answer.data.key : null;
  }

  watch(command: string): void {
    this.#service.watch(this.#drawn(), command);
  }

  #asked(request: Request, cluster: string | null, body: object | undefined): Promise<Call> {
    return askAt({ ...this.#admin(), recorder: this.#service.recorder, client: this.#place }, request, cluster, body);
  }

  #admin(): { readonly name: string; readonly rest: Rest } {
    const { name, url } = this.#drawn();
    const rest = this.#rests.get(name) ?? restClient(() => url, FLEET_KEYS.MASTER_KEY);
    this.#rests.set(name, rest);
    return { name, rest };
  }

  /** One that runs, or is frozen; while none does, any. */
  #drawn(): AdminProgram {
    const { admins } = this.#service;
    const running = admins.filter(({ program }) => program.exit === null);
    const among = running.length === 0 ? admins : running;
    return among[this.#admins() % among.length] as AdminProgram;
  }
}

/** Asks one admin, and notes what became of it. `cluster`: whose owner does it; null: nobody's. */
export async function askAt(
  {
    name: admin,
    rest,
    recorder,
    client,
  }: { readonly name: string; readonly rest: Rest; readonly recorder: Recorder; readonly client: number },
  request: Request,
  cluster: string | null,
  body?: object,
): Promise<Call> {
  const { operation, method, path, ...sent } = questionOf(request, body);
  const where = recorder.placeOf(admin, cluster);
  const invokedMs = recorder.nowMs();
  const outcome = await rest.call(method, path, sent).then((answer) => outcomeOf(request, answer), lost);
  const answeredMs = recorder.nowMs();
  const call = { client, admin, ...where, operation, request, invokedMs, answeredMs, outcome };
  recorder.calls.push(call);
  return call;
}

function isUnanswered({ outcome }: Call): boolean {
  return outcome.type === 'doubt' || outcome.type === 'unavailable';
}

/** Seeds that are near each other give numbers that are not. */
function spread(seed: number): () => number {
  const numbers = seededNumbers(seed);
  numbers();
  return numbers;
}
