/**
 * Frames as each version put them on the wire. A recording is never edited: what it says must be understood as long as
 * the version is.
 */
import { readFileSync, readdirSync } from 'node:fs';
import test from 'ava';
import { decodeAdminFrame, decodeAgentFrame, encodeFrame } from '../../../../transport/protocol/codec.ts';
import { AdminFrame, AgentFrame } from '../../../../transport/protocol/frames.ts';
import type { AdminFrameBody, AgentFrameBody } from '../../../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION, PROTOCOL_VERSION_MIN } from '../../../../transport/protocol/version.ts';

interface Recording {
  readonly from: 'agent' | 'admin';
  /** The message, byte for byte. */
  readonly text: string;
  /** What it means. */
  readonly frame: { readonly seq: number; readonly type: string };
}

const folder = new URL('recordings/', import.meta.url);

function recordingsOf(version: number): Recording[] {
  const directory = new URL(`v${version}/`, folder);
  return readdirSync(directory).map((file) => JSON.parse(readFileSync(new URL(file, directory), 'utf8')) as Recording);
}

for (let version = PROTOCOL_VERSION_MIN; version <= PROTOCOL_VERSION; version += 1) {
  test(`every recorded frame of version ${version} means what it meant`, (t) => {
    for (const { from, text, frame } of recordingsOf(version)) {
      t.deepEqual(from === 'agent' ? decodeAgentFrame(text) : decodeAdminFrame(text), { ok: true, frame } as never);
    }
  });
}

test('every frame of this version is written as it was recorded', (t) => {
  for (const { text, frame } of recordingsOf(PROTOCOL_VERSION)) {
    const { seq, ...body } = frame;
    t.is(encodeFrame(body as AgentFrameBody | AdminFrameBody, seq), text);
  }
});

test('every type of frame of this version is recorded', (t) => {
  const typesOf = (from: 'agent' | 'admin') =>
    recordingsOf(PROTOCOL_VERSION)
      .filter((recording) => recording.from === from)
      .map((recording) => recording.frame.type)
      .toSorted();

  t.deepEqual(typesOf('agent'), AgentFrame.options.map((option) => option.shape.type.value).toSorted());
  t.deepEqual(typesOf('admin'), AdminFrame.options.map((option) => option.shape.type.value).toSorted());
});

test('an agent reads what an agent of later days adds to a frame, and drops it', (t) => {
  t.deepEqual(decodeAdminFrame('{"seq":1,"type":"pong","colour":"blue"}'), {
    ok: true,
    frame: { seq: 1, type: 'pong' },
  });
});
