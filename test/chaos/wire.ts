/**
 * What stands between agents and an admin: passes everything on, reads the frames, and can hold them at a moment of
 * choice.
 */
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Scope } from '../support/scope.ts';
import type { AdminFrame, AgentFrame } from '../../transport/protocol/frames.ts';
import { SESSION_SUBPROTOCOL } from '../../transport/protocol/version.ts';
import { listening } from '../support/net/listening.ts';

/** How long an agent waits at the wire for an admin that is away, in ms: below its own timeout of a dial. */
const ABSENCE_MS_MAX = 8_000;

/** Between two attempts to reach it, in ms. */
const DIAL_AGAIN_MS = 50;

/** Either direction's frames. */
export type Frame = AgentFrame | AdminFrame;

/** A frame that is held, and with it all that follows on its connection in its direction. */
export interface Held {
  /** The frame, once it came. */
  readonly caught: Promise<Frame>;
  /** Lets everything go on, also to an admin whose agent is gone by now. */
  release(): void;
  /** Ends the connection; what was held is lost. */
  drop(): void;
}

/** A wire before one admin. */
export interface Wire {
  readonly url: string;
  /** Holds the next frame of this type, of whichever agent. */
  hold(type: Frame['type']): Held;
  /** Calls for every frame that is passed on, when it is. */
  watch(seen: (frame: Frame) => void): void;
  /** Nobody new gets through until the returned function is called; whoever is through stays. */
  shut(): () => void;
}

interface Trap {
  readonly type: Frame['type'];
  readonly take: (frame: Frame, direction: Direction) => void;
}

/** One direction of one connection. */
interface Direction {
  readonly to: WebSocket;
  queue: string[] | null;
  /** The other side is gone: when nothing is held any more, this one is ended too. */
  ended: (() => void) | null;
}

/** Opens a wire to an admin that may come, go and come back. `localAddress`: from where it dials; any unless given. */
export async function openWire(scope: Scope, adminUrl: string, localAddress?: string): Promise<Wire> {
  const watchers: ((frame: Frame) => void)[] = [];
  const traps = new Set<Trap>();
  let shuts = 0;
  const server = createServer((request, response) => {
    if (shuts > 0) {
      response.destroy();
      return;
    }
    const passed = httpRequest(
      adminUrl + (request.url ?? ''),
      { method: request.method ?? 'GET', headers: request.headers, localAddress },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  const acceptor = new WebSocketServer({ noServer: true, handleProtocols: () => SESSION_SUBPROTOCOL });
  const sockets = new Set<WebSocket>();
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    if (shuts > 0) socket.destroy();
    else connect(request, socket, head, performance.now() + ABSENCE_MS_MAX);
  });
  const port = await listening(scope, server);
  scope.teardown(() => {
    for (const socket of sockets) socket.terminate();
  });

  /**
   * As long as the admin is away the agent waits here: so its back-off, which has tests of its own, does not slow every
   * round.
   */
  function connect(request: IncomingMessage, socket: Duplex, head: Buffer, untilMs: number): void {
    if (socket.destroyed) return;
    const upper = new WebSocket(adminUrl.replace('http', 'ws') + (request.url ?? ''), SESSION_SUBPROTOCOL, {
      localAddress,
      headers: { authorization: request.headers.authorization ?? '' },
    });
    sockets.add(upper);
    upper.on('close', () => sockets.delete(upper));
    const left = () => upper.terminate();
    socket.once('close', left);
    const refused = () => {
      socket.off('close', left);
      if (performance.now() > untilMs) socket.destroy();
      else setTimeout(() => connect(request, socket, head, untilMs), DIAL_AGAIN_MS);
    };
    upper.on('error', refused);
    upper.on('unexpected-response', (_, answer) => {
      socket.end(`HTTP/1.1 ${answer.statusCode ?? 503} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      answer.resume();
      upper.off('error', refused).on('error', () => {}); // it is told that it is ended now
    });
    upper.on('open', () => {
      upper.off('error', refused);
      socket.off('close', left); // from here on what is held outlives the agent
      acceptor.handleUpgrade(request, socket, head, (lower) => join(lower, upper));
    });
  }

  function join(lower: WebSocket, upper: WebSocket): void {
    sockets.add(lower);
    lower.on('close', () => sockets.delete(lower));
    relay(lower, upper);
    relay(upper, lower);
  }

  function relay(from: WebSocket, to: WebSocket): void {
    const direction: Direction = { to, queue: null, ended: null };
    from.on('error', () => from.terminate());
    from.on('message', (data) => {
      const text = (data as Buffer).toString('utf8');
      if (direction.queue === null) trap(direction, text);
      if (direction.queue === null) pass(direction, text);
      else direction.queue.push(text);
    });
    from.on('close', (code, reason) => {
      const end = () => (code >= 3_000 || code === 1_000 ? to.close(code, reason) : to.terminate());
      if (direction.queue === null) end();
      else direction.ended = end;
    });
  }

  function trap(direction: Direction, text: string): void {
    if (traps.size === 0) return;
    const frame = JSON.parse(text) as Frame;
    for (const one of traps) {
      if (one.type !== frame.type) continue;
      traps.delete(one);
      direction.queue = [];
      one.take(frame, direction);
      return;
    }
  }

  function pass(direction: Direction, text: string): void {
    if (direction.to.readyState !== WebSocket.OPEN) return;
    const frame = JSON.parse(text) as Frame;
    for (const seen of watchers) seen(frame);
    direction.to.send(text);
  }

  function hold(type: Frame['type']): Held {
    const caught = Promise.withResolvers<Frame>();
    let held: Direction | null = null;
    const mine: Trap = {
      type,
      take: (frame, direction) => {
        held = direction;
        caught.resolve(frame);
      },
    };
    traps.add(mine);
    const letGo = (): string[] => {
      traps.delete(mine);
      const queue = held?.queue ?? [];
      if (held !== null) held.queue = null;
      return queue;
    };
    return {
      caught: caught.promise,
      release() {
        for (const text of letGo()) if (held !== null) pass(held, text);
        held?.ended?.();
      },
      drop() {
        letGo();
        held?.to.terminate();
      },
    };
  }

  return {
    url: `http://127.0.0.1:${port}`,
    hold,
    watch: (seen) => void watchers.push(seen),
    shut() {
      shuts += 1;
      return () => {
        shuts -= 1;
      };
    },
  };
}
