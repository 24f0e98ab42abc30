/**
 * Whether what clients were told of one thing can be true at all: whether some order of the calls, which no call that
 * began after another ended turns round, explains each answer. Source: Wing and Gong, "Testing and Verifying Concurrent
 * Objects", 1993, with Lowe's memory of states that were tried, "Testing for Linearizability", 2017.
 */
import type { Call } from './history.ts';

/** What a thing may do, one call at a time. States are compared by their JSON. */
export interface Machine<S> {
  readonly start: S;
  /**
   * The state in which a call leaves it that was answered so; null: in this state it is not answered so. Of one in
   * doubt: the state in which it leaves it when it was done.
   */
  after(state: S, call: Call): S | null;
}

/** Calls that cannot all have been answered as they were. */
export interface Contradiction {
  /** Without which all before it would be well. */
  readonly last: Call;
  /** The fewest that it contradicts. */
  readonly others: readonly Call[];
}

interface Step {
  readonly call: Call;
  readonly fromMs: number;
  /** Infinity: in doubt, it may be done at any time later, or never. */
  readonly toMs: number;
}

/** Null when some order explains all answers. Calls in which nothing was done are not to be among them. */
export function contradictionIn<S>(machine: Machine<S>, calls: readonly Call[]): Contradiction | null {
  const steps = calls.map(stepOf).toSorted((one, other) => one.fromMs - other.fromMs);
  if (isPossible(machine, steps)) return null;

  const answered = steps.filter(({ toMs }) => toMs !== Infinity).toSorted((one, other) => one.toMs - other.toMs);
  let [least, most] = [0, answered.length - 1]; // up to `most` it is impossible, and so it is for all after it
  while (least < most) {
    const middle = Math.floor((least + most) / 2);
    if (isPossible(machine, upTo(steps, answered[middle]?.toMs ?? 0))) least = middle + 1;
    else most = middle;
  }
  const last = answered[most];
  if (last === undefined) throw new Error('nothing was answered, and yet it is impossible');
  return { last: last.call, others: fewest(machine, upTo(steps, last.toMs), last) };
}

/** As it was known at that moment: what was not answered by then is in doubt. */
function upTo(steps: readonly Step[], ms: number): Step[] {
  return steps.filter(({ fromMs }) => fromMs <= ms).map((step) => (step.toMs <= ms ? step : inDoubt(step)));
}

/** Those of them whose answers are needed for the contradiction; each was left out once to see. */
function fewest<S>(machine: Machine<S>, steps: readonly Step[], last: Step): readonly Call[] {
  let rest = [...steps];
  for (const step of steps) {
    if (step.toMs === Infinity || step.call === last.call) continue;
    const without = rest.map((one) => (one.call === step.call ? inDoubt(one) : one));
    if (!isPossible(machine, without)) rest = without;
  }
  return rest.filter(({ toMs, call }) => toMs !== Infinity && call !== last.call).map(({ call }) => call);
}

function stepOf(call: Call): Step {
  return {
    call,
    fromMs: call.invokedMs,
    toMs: call.outcome.type === 'doubt' ? Infinity : call.answeredMs,
  };
}

function inDoubt(step: Step): Step {
  return { ...step, toMs: Infinity };
}

/** Whether some order explains all answers. */
function isPossible<S>(machine: Machine<S>, steps: readonly Step[]): boolean {
  return new Search(machine, steps).from(machine.start, { before: 0, bits: 0n, answered: 0 });
}

/** Whether nothing was done, in whatever state it was asked. A delete of what is not there yet is no such thing. */
function isRead({ request, outcome }: Call): boolean {
  return outcome.type === 'refused' || request.verb === 'show' || request.verb === 'show-node';
}

/**
 * Which steps have their place in the order: all before a place, and of those from there on the ones whose bit is set.
 * So many of them were answered.
 */
interface Placed {
  readonly before: number;
  readonly bits: bigint;
  readonly answered: number;
}

class Search<S> {
  readonly #machine: Machine<S>;
  readonly #steps: readonly Step[];
  readonly #tried = new Set<string>();
  readonly #answered: number;

  constructor(machine: Machine<S>, steps: readonly Step[]) {
    this.#machine = machine;
    this.#steps = steps;
    this.#answered = steps.filter(({ toMs }) => toMs !== Infinity).length;
  }

  /** Whether the rest can be put in an order from here. */
  from(state: S, placed: Placed): boolean {
    const key = JSON.stringify(state);
    const quiet = this.#quiet(state, key, placed);
    if (quiet.answered === this.#answered) return true;
    const tried = `${quiet.before} ${quiet.bits.toString(36)} ${key}`;
    if (this.#tried.has(tried)) return false;
    this.#tried.add(tried);
    return this.#next(quiet).some(([place, step]) => {
      const after = this.#machine.after(state, step.call);
      if (after === null || (step.toMs === Infinity && JSON.stringify(after) === key)) return false;
      return this.from(after, this.#with(quiet, place));
    });
  }

  /** Answered calls that fit now and can change nothing have their place at once: later they fit no better. */
  #quiet(state: S, key: string, placed: Placed): Placed {
    let now = placed;
    for (;;) {
      const fits = this.#next(now).find(([, step]) => {
        if (step.toMs === Infinity || !isRead(step.call)) return false;
        const after = this.#machine.after(state, step.call);
        return after !== null && JSON.stringify(after) === key;
      });
      if (fits === undefined) return now;
      now = this.#with(now, fits[0]); // its end may have held back others
    }
  }

  #with({ before, bits, answered }: Placed, place: number): Placed {
    const more = {
      before,
      bits: bits | (1n << BigInt(place - before)),
      answered: answered + (this.#steps[place]?.toMs === Infinity ? 0 : 1),
    };
    while (more.bits & 1n) {
      more.bits >>= 1n;
      more.before += 1;
    }
    return more;
  }

  /** Those that may be next: no other one that is left ended before they began. Answered ones first. */
  #next({ before, bits }: Placed): [number, Step][] {
    let endMs = Infinity;
    const left: [number, Step][] = [];
    for (let place = before; place < this.#steps.length; place += 1) {
      const step = this.#steps[place] as Step;
      if (step.fromMs > endMs) break; // they begin in order
      if ((bits >> BigInt(place - before)) & 1n) continue;
      left.push([place, step]);
      endMs = Math.min(endMs, step.toMs);
    }
    return left.filter(([, { fromMs }]) => fromMs <= endMs).toSorted(([, one], [, other]) => one.toMs - other.toMs);
  }
}
