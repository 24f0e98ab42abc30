/** What is told of rows that were read for an actor which ended meanwhile, and whose successor reads its own (C3). */
import test from 'ava';
import type { Message } from '../../../actors/messages.ts';
import { domainPerformers, type DomainPorts } from '../../../supervisors/effects.ts';
import type { Requester } from '../../../supervisors/runtime/domain-effects.ts';
import { execution, NODE } from '../../support/actors.ts';

/**
 * An actor of a node, which ends when it is told to, and what it and its successor are told, by the rules of both
 * words.
 */
function requester() {
  const told: { readonly own: Message[]; readonly successor: Message[] } = { own: [], successor: [] };
  let isOver = false;
  const actor: Requester = {
    self: { kind: 'node', id: NODE },
    get isOver() {
      return isOver;
    },
    report(message) {
      if (!isOver) told.own.push(message);
    },
    tell(message) {
      told[isOver ? 'successor' : 'own'].push(message);
    },
    untilLoaded: (load) => load(),
  };
  return { actor, told, end: () => (isOver = true) };
}

/** Performers whose rows come when they are let go. */
function readingSlowly() {
  const read = Promise.withResolvers<void>();
  const loader = {
    async openExecutions() {
      await read.promise;
      return { executions: [execution(1)], more: false };
    },
    async findOpen() {
      await read.promise;
      return { executions: [execution(1)], leftMs: new Map() };
    },
  };
  return { performers: domainPerformers({ loader } as unknown as DomainPorts), letGo: read.resolve };
}

const LOAD_OPEN = { type: 'load-open', limit: 4, except: [] } as const;
const RETRY = { type: 'rescan' } as const;
const LOOK_UP = { type: 'look-up', executions: [], retry: RETRY } as const;

for (const isOver of [false, true])
  test(`open executions read for an actor go ${isOver ? 'nowhere once it has ended: its successor would run them again' : 'to it'}`, async (t) => {
    const { actor, told, end } = requester();
    const { performers, letGo } = readingSlowly();
    const performed = performers['load-open'](LOAD_OPEN, actor);

    if (isOver) end();
    letGo();
    await performed;

    t.deepEqual(told.successor, []);
    t.deepEqual(
      told.own.map(({ type }) => type),
      isOver ? [] : ['executions-loaded'],
    );
  });

for (const isOver of [false, true])
  test(`a look-up for an actor goes ${isOver ? 'to its successor as a question of its own, never as an answer' : 'to it'}`, async (t) => {
    const { actor, told, end } = requester();
    const { performers, letGo } = readingSlowly();
    const performed = performers['look-up'](LOOK_UP, actor);

    if (isOver) end();
    letGo();
    await performed;

    t.deepEqual(told.successor, isOver ? [RETRY] : []);
    t.deepEqual(
      told.own.map(({ type }) => type),
      isOver ? [] : ['executions-looked-up'],
    );
  });
