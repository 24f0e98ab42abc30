/** Readers of live feeds, which note all that they are told. */
import { setTimeout as delay } from 'node:timers/promises';
import { createLiveClient, subscribePatiently, type LiveClient } from '../../../api/client/client.ts';
import type { NodesMessage } from '../../../api/feeds/nodes-messages.ts';
import type { TailMessage } from '../../../api/feeds/tail.ts';
import { FLEET_KEYS } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import type { Scope } from '../../support/scope.ts';
import type { OpenCommandReader, OpenEventReader, OpenNodeReader, OpenTailReader, Recorder } from './recorder.ts';

/** A reader of events stays at an admin for so long, in ms. */
const STAY_MS = 3_000;

/** Commands that are watched at most, in number. */
const WATCHED_MAX = 200;

/** Outputs that are read as they come, at a time, in number: fewer than an admin takes. */
const TAILED_MAX = 24;

/** A refused subscription is tried again after this, in ms. */
const AGAIN_MS = 250;

/** All of them. Those of events move from admin to admin and go on where they were. */
export class Readers {
  readonly #admins: readonly AdminProgram[];
  readonly #recorder: Recorder;
  readonly #live = new Map<string, LiveClient>();
  #tailed = 0;
  #isOver = false;

  constructor(scope: Scope, admins: readonly AdminProgram[], recorder: Recorder) {
    this.#admins = admins;
    this.#recorder = recorder;
    scope.teardown(() => this.end());
  }

  /** Ends all of them. */
  end(): void {
    this.#isOver = true;
    for (const live of this.#live.values()) live.close();
  }

  /** Begins to read all events; resolves when the place is known from which on it has to see them all. */
  async readEvents(name: string, first: number): Promise<void> {
    const reader: OpenEventReader = { name, events: [] };
    this.#recorder.eventReaders.push(reader);
    const began = Promise.withResolvers<void>();
    void this.#hop(reader, first, began.resolve);
    await began.promise;
  }

  /** Notes how the executions of a command go on, as this admin tells it. */
  watchCommand(admin: AdminProgram, id: string): void {
    if (this.#recorder.commandReaders.length >= WATCHED_MAX) return;
    const reader: OpenCommandReader = { command: id, admin: admin.name, told: [], isWhole: true };
    this.#recorder.commandReaders.push(reader);
    const note = (executions: readonly { readonly id: string; readonly status?: string | undefined }[]): void => {
      for (const { id: execution, status } of executions)
        if (status !== undefined) reader.told.push({ execution, status });
    };
    this.#of(admin).api.commands.watch.subscribe(
      { id },
      {
        onData: ({ data }) => {
          if (data.type !== 'removed') note(data.executions);
        },
        onError: () => {
          reader.isWhole = false; // deleted meanwhile, or this admin is not there
        },
      },
    );
  }

  /** Puts an output together as this admin tells it: each byte once, in order. */
  tail(admin: AdminProgram, execution: string): void {
    if (this.#tailed >= TAILED_MAX) return;
    this.#tailed += 1;
    const reader: OpenTailReader = { execution, admin: admin.name, text: '', problems: [], isWhole: false };
    this.#recorder.tailReaders.push(reader);
    const over = (): void => {
      this.#tailed -= 1;
      subscription.unsubscribe();
    };
    const subscription = this.#of(admin).api.executions.tail.subscribe(
      { id: execution },
      {
        onData: ({ data }) => {
          noteOutput(reader, data);
          if (reader.isWhole) over();
        },
        onError: () => over(), // deleted meanwhile, or this admin is not there
      },
    );
  }

  /** Follows all nodes at this admin. A cut connection comes back by itself, a refusal is followed by another try. */
  watchNodes(admin: AdminProgram): void {
    const reader: OpenNodeReader = { admin: admin.name, nodes: new Map() };
    this.#recorder.nodeReaders.push(reader);
    const known = reader.nodes;
    subscribePatiently<NodesMessage>(
      (handlers, lastEventId) =>
        this.#of(admin).api.nodes.watch.subscribe({ ...(lastEventId !== undefined && { lastEventId }) }, handlers),
      {
        data(message) {
          if (message.type === 'snapshot' && message.page === 1) known.clear();
          for (const { id, cluster_name: cluster, labels } of message.nodes) {
            const before = known.get(id);
            known.set(id, { cluster: cluster ?? before?.cluster ?? '', labels: labels ?? before?.labels ?? {} });
          }
          if (message.type === 'changed') for (const id of message.removed) known.delete(id);
        },
        failed() {}, // what it knows then is not what is stored
      },
    );
  }

  async #hop(reader: OpenEventReader, first: number, began: () => void): Promise<void> {
    let lastEventId: string | undefined;
    for (let place = first; !this.#isOver; place += 1) {
      const admin = this.#admins[place % this.#admins.length] as AdminProgram;
      if (admin.program.exit !== null) {
        await delay(AGAIN_MS);
        continue;
      }
      let isHere = true;
      const subscription = this.#of(admin).api.events.watch.subscribe(
        { ...(lastEventId !== undefined && { lastEventId }) },
        {
          onData: ({ id, data }) => {
            if (!isHere) return;
            lastEventId = id;
            began();
            if (data.type === 'started') return;
            for (const { id: event, type } of data.events) reader.events.push({ id: event, type });
          },
          onError() {}, // the next admin is asked soon
        },
      );
      await delay(STAY_MS);
      isHere = false;
      subscription.unsubscribe();
    }
  }

  #of(admin: AdminProgram): LiveClient {
    const live = this.#live.get(admin.name) ?? createLiveClient({ url: admin.url, key: FLEET_KEYS.MASTER_KEY });
    this.#live.set(admin.name, live);
    return live;
  }
}

/** Outputs here are of one byte a character. */
function noteOutput(reader: OpenTailReader, message: TailMessage): void {
  if (message.type === 'end') reader.isWhole = true;
  else if (message.type === 'snapshot' && message.offset === 0) reader.text = '';
  else if (message.offset !== reader.text.length)
    reader.problems.push(`${message.type} at ${message.offset}, where ${reader.text.length} were known`);
  if (message.type === 'output') reader.text += message.text;
}
