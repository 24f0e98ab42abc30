/** Worker: MeshCentral's agents, simulated by its protocol, or an operator's session. */
import { createPublicKey, randomBytes, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { serveQuestions } from '../method/worker.ts';

/** As much output as the other sides' simulated agents give. */
const OUTPUT = 'x'.repeat(200);

/** Agents dialled at once: with more it falls behind its own handshakes. */
const DIALS_AT_ONCE = 32;

/** The id of a Linux agent on x86-64, and what it can do. Source: meshcentral.js, meshAgentsArchitectureNumbers. */
const AGENT_LINUX_X64 = 6;
const CAPABILITIES = 31;

/** Big-endian, as its messages have numbers. */
function short(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

function int(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/**
 * An agent is known by the fingerprint of its key. Signatures are not checked here (ignoreAgentHashCheck), so a key may
 * be any number in the place of a real one.
 */
function certificates(pem: string): () => Buffer {
  const der = new X509Certificate(pem).raw;
  const { n = '' } = createPublicKey(pem).export({ format: 'jwk' });
  const modulus = Buffer.from(n, 'base64url');
  const at = der.indexOf(modulus);
  return () => {
    const copy = Buffer.from(der);
    randomBytes(modulus.length - 2).copy(copy, at + 1);
    return copy;
  };
}

async function connectAgent(port: number, index: number, mesh: Buffer, certificate: Buffer): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/agent.ashx`, { perMessageDeflate: false });
  const name = Buffer.from(`n${index}`);
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('MeshCentral hung up on an agent')));
    socket.on('open', () => socket.send(Buffer.concat([short(1), randomBytes(48), randomBytes(48)])));
    socket.on('message', (data: Buffer) => {
      if (data[0] === 0x7b) return answer(socket, data.toString());
      const command = data.readUInt16BE(0);
      if (command === 1) {
        socket.send(Buffer.concat([short(2), short(certificate.length), certificate, randomBytes(384)]));
        socket.send(
          Buffer.concat([
            short(3),
            int(1),
            int(AGENT_LINUX_X64),
            int(0),
            int(3),
            mesh,
            int(CAPABILITIES),
            short(name.length),
            name,
          ]),
        );
      } else if (command === 4) resolve();
    });
  });
}

function answer(socket: WebSocket, text: string): void {
  const { action, responseid } = JSON.parse(text) as { action: string; responseid?: string };
  if (action === 'runcommands')
    socket.send(JSON.stringify({ action: 'msg', type: 'runcommands', result: OUTPUT, responseid }));
}

let operator: WebSocket;
let nodeIds: string[] = [];
let answers = 0;
let wanted = 0;
let allAnswered: (() => void) | undefined;

interface Told {
  readonly action?: string;
  readonly type?: string;
  readonly meshid?: string;
  readonly nodes?: Record<string, { readonly _id: string }[]>;
  readonly result?: string;
  readonly event?: { readonly action?: string; readonly meshid?: string };
}

/** The first message that fits. */
function told(fits: (message: Told) => boolean): Promise<Told> {
  return new Promise((resolve) => {
    const look = (data: Buffer): void => {
      const message = JSON.parse(data.toString()) as Told;
      if (!fits(message)) return;
      operator.off('message', look);
      resolve(message);
    };
    operator.on('message', look);
  });
}

serveQuestions({
  serve: async ({
    port,
    nodes,
    mesh,
    certificate,
  }: {
    port: number;
    nodes: number;
    mesh: string;
    certificate: string;
  }) => {
    const meshId = Buffer.from((mesh.split('/')[2] ?? '').replaceAll('@', '+').replaceAll('$', '/'), 'base64');
    const newCertificate = certificates(certificate);
    let next = 0;
    const dialler = async (): Promise<void> => {
      for (let index = next; index < nodes; index = next) {
        next += 1;
        await connectAgent(port, index, meshId, newCertificate());
      }
    };
    await Promise.all(Array.from({ length: DIALS_AT_ONCE }, dialler));
  },
  /** Signs in and makes a device group; answers its id. */
  operate: async ({ port, user, password }: { port: number; user: string; password: string }) => {
    const credentials = [user, password].map((part) => Buffer.from(part).toString('base64')).join(',');
    operator = new WebSocket(`ws://127.0.0.1:${port}/control.ashx`, {
      perMessageDeflate: false,
      headers: { 'x-meshauth': credentials },
      maxPayload: 268_435_456,
    });
    await once(operator, 'open');
    const made = told(({ event }) => event?.action === 'createmesh');
    operator.send(JSON.stringify({ action: 'createmesh', meshname: 'bench', meshtype: 2 }));
    return (await made).event?.meshid;
  },
  /** Learns the ids of all nodes. */
  find: async (nodes: number) => {
    while (nodeIds.length < nodes) {
      const listed = told(({ action }) => action === 'nodes');
      operator.send(JSON.stringify({ action: 'nodes' }));
      nodeIds = Object.values((await listed).nodes ?? {})
        .flat()
        .map(({ _id }) => _id);
    }
    operator.on('message', (data: Buffer) => {
      if (!data.includes(OUTPUT)) return;
      answers += 1;
      if (answers === wanted) allAnswered?.();
    });
  },
  /** One command for all; answers the ms until the last output is here. */
  run: async (nodes: number) => {
    answers = 0;
    wanted = nodes;
    const done = new Promise<void>((resolve) => {
      allAnswered = resolve;
    });
    const began = performance.now();
    operator.send(
      JSON.stringify({
        action: 'runcommands',
        nodeids: nodeIds,
        type: 0,
        cmds: 'true',
        runAsUser: 0,
        reply: true,
        responseid: 'bench',
      }),
    );
    await done;
    return performance.now() - began;
  },
});
