/**
 * The floor of a fan-out, server side, as a process of its own: bare `ws`, the same frames, the same rows. It does the
 * product's work (created durable before the first frame, sent and completed durable before the confirm) and nothing
 * else: no authentication, no validation, no actors, no guards, no recovery. Never made slower on purpose.
 */
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { v7 } from 'uuid';
import { WebSocketServer, type WebSocket } from 'ws';
import type { DatabasePlace } from '../fleet/database.ts';
import { clusterNameOf, nodeId } from '../fleet/nodes.ts';
import { serveQuestions } from '../method/worker.ts';
import { insertCommands, ROWS_PER_BATCH, store, type FloorEnding, type FloorExecution } from './rows.ts';
import { sustain } from '../method/sustained.ts';

/** Frames sent before the loop may read: keeps every node's wait short at no cost (notes of the first measurements). */
const SENDS_PER_TURN = 64;

interface Seat {
  readonly socket: WebSocket;
  seq: number;
}

const seats = new Map<number, Seat>();
const open = new Map<
  string,
  { readonly execution: FloorExecution; readonly seat: Seat; readonly done: (() => void) | undefined }
>();
const creating: { readonly execution: FloorExecution; readonly index: number; readonly done: () => void }[] = [];
const acknowledged: FloorExecution[] = [];
const finished: FloorEnding[] = [];
let client: Client;
let writing = false;

const server = new WebSocketServer({
  port: 0,
  host: '127.0.0.1',
  perMessageDeflate: false,
  maxPayload: 1_048_576,
  skipUTF8Validation: true,
});

server.on('connection', (socket, request) => {
  const seat: Seat = { socket, seq: 0 };
  seats.set(Number(request.url?.slice(1)), seat);
  socket.on('message', (data: Buffer) => hear(JSON.parse(data.toString()) as Heard));
  socket.on('error', () => undefined); // its close follows
});

interface Heard {
  readonly type: 'acknowledge' | 'result';
  readonly executions?: readonly string[];
  readonly results?: readonly { readonly execution: string; readonly exit_code: number; readonly output: string }[];
}

function hear(frame: Heard): void {
  for (const id of frame.executions ?? []) {
    const known = open.get(id);
    if (known) acknowledged.push(known.execution);
  }
  for (const { execution: id, exit_code: exitCode, output } of frame.results ?? []) {
    const known = open.get(id);
    if (known) finished.push({ execution: known.execution, exitCode, output });
  }
  if (!writing) void write();
}

/**
 * Group commit: one batch is stored while the next one gathers. What arrives in this turn of the loop travels together.
 */
async function write(): Promise<void> {
  writing = true;
  await new Promise(setImmediate);
  for (;;) {
    const created = creating.splice(0, ROWS_PER_BATCH);
    if (created.length > 0) {
      await insertCommands(
        client,
        created.map(({ execution }) => execution),
      );
      for (const { execution, index, done } of created) deliver(execution, index, done);
    }
    // An acknowledgement is never behind its result: it came first on the same socket, and both queues are cut at once.
    const sent = acknowledged.splice(0);
    const endings = finished.splice(0);
    if (sent.length > 0 || endings.length > 0) {
      await store(client, sent, endings, new Date().toISOString());
      for (const { execution } of endings) confirm(execution.id);
    } else if (creating.length === 0) break;
  }
  writing = false;
}

function deliver(execution: FloorExecution, index: number, done?: () => void): void {
  const seat = seats.get(index);
  if (!seat) throw new Error(`no agent ${index}`);
  open.set(execution.id, { execution, seat, done });
  send(seat, {
    type: 'deliver',
    deliveries: [
      { execution: execution.id, command_text: execution.commandText, timeout_ms: null, expires_in_ms: null },
    ],
  });
}

function confirm(id: string): void {
  const known = open.get(id);
  if (!known) return;
  open.delete(id);
  send(known.seat, { type: 'confirm', executions: [id] });
  known.done?.();
}

function send(seat: Seat, body: object): void {
  seat.seq += 1;
  seat.socket.send(JSON.stringify({ seq: seat.seq, ...body }));
}

function newExecution(command: string, commandText: string, index: number, insertedAt: string): FloorExecution {
  return {
    id: v7(),
    command,
    commandText,
    node: nodeId(index),
    clusterName: clusterNameOf(index),
    insertedAt,
    sentAt: null,
  };
}

/** Creates one command for nodes 0 … nodes - 1 and delivers it. Answers when it is created durably, as the 201 does. */
async function run({ commandText, nodes }: { commandText: string; nodes: number }): Promise<void> {
  const command = v7();
  const insertedAt = new Date().toISOString();
  const executions = Array.from({ length: nodes }, (_, index) => newExecution(command, commandText, index, insertedAt));
  await insertCommands(client, executions);
  void deliverAll(executions);
}

async function deliverAll(executions: readonly FloorExecution[]): Promise<void> {
  for (const [index, execution] of executions.entries()) {
    deliver(execution, index);
    if (index % SENDS_PER_TURN === SENDS_PER_TURN - 1) await new Promise(setImmediate);
  }
}

/** One command for one node, from creation to confirm. */
function runOne(index: number): Promise<void> {
  return new Promise((done) => {
    creating.push({ execution: newExecution(v7(), 'true', index, new Date().toISOString()), index, done });
    if (!writing) void write();
  });
}

serveQuestions({
  start: async (place: DatabasePlace) => {
    client = new Client({ ...place, options: '-c plan_cache_mode=force_custom_plan' });
    await client.connect();
    return (server.address() as AddressInfo).port;
  },
  run,
  sustain: (load: { seconds: number; inFlight: number; nodes: number }) => sustain(load, runOne),
});
