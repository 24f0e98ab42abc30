/** A small DNS server over UDP that says what a test tells it to. */
import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Scope } from '../scope.ts';

/** One question: the name in lower case, and how often that name and type were asked for before. */
export interface Question {
  readonly name: string;
  readonly type: 'A' | 'AAAA';
  readonly asked: number;
}

/**
 * What is answered: addresses (those of the type asked for are sent), perhaps behind a chain of aliases; no such name;
 * a failure of the server; or nothing at all.
 */
export type Answer =
  | { readonly addresses: readonly string[]; readonly aliases?: readonly string[] }
  | 'no-such-name'
  | 'failure'
  | 'silence';

/** Codes of a reply. Source: RFC 1035, 4.1.1. */
const RCODE = { failure: 2, 'no-such-name': 3 } as const;

const TYPE = { A: 1, CNAME: 5, AAAA: 28 } as const;

/** Starts a server on a free port of 127.0.0.1. It notes each question, as `type name`. */
export async function startDnsServer(
  scope: Scope,
  answer: (question: Question) => Answer | Promise<Answer>,
): Promise<{ readonly server: string; readonly questions: string[] }> {
  const questions: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    void reply(message, from);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  let isOpen = true;
  scope.teardown(() => {
    isOpen = false;
    socket.close();
  });
  return { server: `127.0.0.1:${socket.address().port}`, questions };

  async function reply(message: Buffer, from: RemoteInfo): Promise<void> {
    const { name, end } = nameAt(message, 12);
    const type = message.readUInt16BE(end) === TYPE.AAAA ? 'AAAA' : 'A';
    const line = `${type} ${name}`;
    const asked = questions.filter((question) => question === line).length;
    questions.push(line);
    const said = await answer({ name, type, asked });
    if (said !== 'silence' && isOpen) socket.send(replyTo(message, end + 4, name, type, said), from.port, from.address);
  }
}

function replyTo(
  query: Buffer,
  questionEnd: number,
  name: string,
  type: 'A' | 'AAAA',
  said: Exclude<Answer, 'silence'>,
): Buffer {
  const records = typeof said === 'string' ? [] : recordsOf(name, type, said);
  const header = Buffer.alloc(12);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180 | (typeof said === 'string' ? RCODE[said] : 0), 2); // a reply, with recursion
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, query.subarray(12, questionEnd), ...records]);
}

function recordsOf(
  name: string,
  type: 'A' | 'AAAA',
  { addresses, aliases = [] }: { readonly addresses: readonly string[]; readonly aliases?: readonly string[] },
): Buffer[] {
  const chain = [name, ...aliases];
  return [
    ...aliases.map((alias, index) => record(chain[index] ?? '', TYPE.CNAME, encoded(alias))),
    ...addresses
      .filter((address) => isIPv6(address) === (type === 'AAAA'))
      .map((address) => record(chain.at(-1) ?? '', TYPE[type], Buffer.from(ipaddr.parse(address).toByteArray()))),
  ];
}

/** A record that may be kept for no time, so that each look-up asks. */
function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([encoded(name), fixed, data]);
}

function encoded(name: string): Buffer {
  return Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);
}

function nameAt(message: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}
