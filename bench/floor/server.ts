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
import { insertCommand, markCompleted, markSent, ROWS_PER_BATCH, type FloorEnding, type FloorExecution } from './rows.ts';

/** Frames sent before the loop may read: keeps every node's wait short at no cost (notes of the first measurements). */
const SENDS_PER_TURN = 64;

interface Seat { readonly socket: WebSocket; seq: number }

const seats = new Map<number, Seat>();
const open = new Map<string, { readonly execution: FloorExecution; readonly seat: Seat }>();
const acknowledged: FloorExecution[] = [];
const finished: FloorEnding[] = [];
let client: Client;
let writing = false;

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false, maxPayload: 1_048_576, skipUTF8Validation: true });

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

/** Group commit: one batch is stored while the next one gathers. */
async function write(): Promise<void> {
  writing = true;
  while (acknowledged.length > 0 || finished.length > 0) {
    const sent = acknowledged.splice(0, ROWS_PER_BATCH);
    if (sent.length > 0) await markSent(client, sent, new Date().toISOString());
    // A result overtakes nobody: its acknowledgement came before it on the same socket, so it is in an earlier batch or in this one.
    const endings = finished.splice(0, ROWS_PER_BATCH).filter((ending) => ending.execution.sentAt !== null || !finished.push(ending));
    if (endings.length === 0) continue;
    await markCompleted(client, endings, new Date().toISOString());
    for (const { execution } of endings) confirm(execution.id);
  }
  writing = false;
}

function confirm(id: string): void {
  const known = open.get(id);
  if (!known) return;
  open.delete(id);
  send(known.seat, { type: 'confirm', executions: [id] });
}

function send(seat: Seat, body: object): void {
  seat.seq += 1;
  seat.socket.send(JSON.stringify({ seq: seat.seq, ...body }));
}

function execution(command: string, commandText: string, index: number, insertedAt: string): FloorExecution {
  return { id: v7(), command, commandText, node: nodeId(index), clusterName: clusterNameOf(index), insertedAt, sentAt: null };
}

/** Creates one command for these nodes and delivers it. Answers when it is created durably, as the 201 does. */
async function run({ commandText, nodes }: { commandText: string; nodes: number | readonly number[] }): Promise<void> {
  const command = v7();
  const insertedAt = new Date().toISOString();
  const indexes = typeof nodes === 'number' ? Array.from({ length: nodes }, (_, index) => index) : nodes;
  const executions = indexes.map((index) => execution(command, commandText, index, insertedAt));
  await insertCommand(client, executions);
  void deliver(executions, indexes);
}

async function deliver(executions: readonly FloorExecution[], indexes: readonly number[]): Promise<void> {
  for (const [position, each] of executions.entries()) {
    const seat = seats.get(indexes[position] ?? -1);
    if (!seat) continue;
    open.set(each.id, { execution: each, seat });
    send(seat, { type: 'deliver', deliveries: [{ execution: each.id, command_text: each.commandText, timeout_ms: null, expires_in_ms: null }] });
    if (position % SENDS_PER_TURN === SENDS_PER_TURN - 1) await new Promise(setImmediate);
  }
}

serveQuestions({
  start: async (place: DatabasePlace) => {
    client = new Client({ ...place, options: '-c plan_cache_mode=force_custom_plan' });
    await client.connect();
    return (server.address() as AddressInfo).port;
  },
  seats: () => seats.size,
  run,
});
