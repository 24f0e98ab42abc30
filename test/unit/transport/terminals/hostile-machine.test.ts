/** A machine that sends more than anybody takes, or has the admin answer without end: what it makes the admin keep. */
/* eslint-disable no-underscore-dangle -- such a machine says what ssh2 would not, by its insides */
import { once } from 'node:events';
import test from 'ava';
import type { Connection, FileEntry, ServerChannel } from 'ssh2';
import { SSH_PACKET_BYTES_MIN } from '../../../../transport/protocol/limits.ts';
import { ANSWERS_WAITING_BYTES_MAX } from '../../../../transport/terminals/ssh-library.ts';
import { until, untilStill } from '../../../support/until.ts';
import { asked, machine, terminalAt } from './fixture.ts';

const PIECE = Buffer.alloc(32_000, 97);

/** What ssh2 keeps of a channel that nobody reads, in bytes, and a piece: twice its window. */
const KEPT_BYTES_MAX = 2 * 2_097_152 + PIECE.length;

/** What a machine says by itself. */
interface Speech {
  readonly _handlers: { GLOBAL_REQUEST: (self: unknown, name: string, ...more: unknown[]) => void };
  readonly _packetRW: {
    readonly write: { readonly allocStart: number; alloc(bytes: number): Buffer; finalize(packet: Buffer): Buffer };
  };
  readonly _cipher: { encrypt(packet: Buffer): void };
  channelData(id: number, data: Buffer): void;
  channelExtData(id: number, data: Buffer, type: number): void;
  ping(): void;
  channelOpenConfirm(remote: number, local: number, window: number, packetBytes: number): void;
}

function speechOf(client: Connection): Speech {
  return (client as unknown as { readonly _protocol: Speech })._protocol;
}

function idOf(shell: ServerChannel): number {
  return (shell as unknown as { readonly outgoing: { readonly id: number } }).outgoing.id;
}

test('a shell that writes both to stdout and to stderr waits with both, and all of it comes in its order', async (t) => {
  const pieces = 256;
  let [written, heard] = [0, ''];
  const { terminal } = await terminalAt(
    t,
    {
      shell(shell) {
        shell.once('data', () => {
          const more = (): void => {
            if (written === pieces) return;
            written += 1;
            const to = written % 2 === 0 ? shell : shell.stderr;
            to.write(Buffer.alloc(PIECE.length, written % 10), () => setImmediate(more));
          };
          more();
        });
      },
    },
    { data: (bytes) => (heard += Buffer.from(bytes).toString('latin1')) },
  );

  terminal.pause();
  terminal.write(Buffer.from('go'), () => {});
  await until('the first piece', () => written > 0);
  await untilStill('what is written', () => written);
  t.is(heard.length, 0);
  t.true(written < pieces, `${written} pieces are kept`);
  terminal.resume();
  await until('all of it', () => heard.length === pieces * PIECE.length);

  for (let piece = 1; piece <= pieces; piece += 1)
    t.is(heard.charCodeAt(piece * PIECE.length - 1), piece % 10, `piece ${piece}`);
});

for (const [what, say] of Object.entries<(speech: Speech, id: number) => void>({
  'of stdout': (speech, id) => speech.channelData(id, PIECE),
  'of stderr': (speech, id) => speech.channelExtData(id, PIECE, 1),
  'of stderr, with a byte of stdout after each piece': (speech, id) => {
    speech.channelExtData(id, PIECE, 1);
    speech.channelData(id, Buffer.of(97));
  },
}))
  test(`a machine that sends more than a window ${what} is cut`, async (t) => {
    let heard = 0;
    const { terminal, closed, stream } = await terminalAt(
      t,
      {
        shell(shell, client) {
          shell.once('data', () => {
            for (let sent = 0; sent < 2 * KEPT_BYTES_MAX; sent += PIECE.length) say(speechOf(client), idOf(shell));
          });
        },
      },
      { data: (bytes) => (heard += bytes.length) },
    );

    terminal.pause();
    terminal.write(Buffer.from('go'), () => {});
    await closed;

    t.is(heard, 0);
    t.true(stream.destroyed);
  });

test('a machine that asks without end and reads no answer is not read either', async (t) => {
  const questions = 200_000;
  const { terminal, stream } = await terminalAt(t, {
    shell(shell, client, socket) {
      shell.once('data', () => {
        socket.pause();
        for (let question = 0; question < questions; question += 1) speechOf(client).ping();
      });
    },
  });

  terminal.write(Buffer.from('go'), () => {});
  await until('an answer that waits', () => stream.writableLength > 0);
  await untilStill('what waits', () => stream.writableLength);

  t.true(stream.writableLength <= ANSWERS_WAITING_BYTES_MAX * 1.5, `${stream.writableLength} bytes wait`);
  t.false(stream.destroyed);
});

test('a machine that tells of its other keys is asked for no proof of them', async (t) => {
  const asked: string[] = [];
  let heard = '';
  const { terminal } = await terminalAt(
    t,
    {
      shell(shell, client) {
        const { _handlers: handlers, _packetRW: packets, _cipher: cipher } = speechOf(client);
        const answer = handlers.GLOBAL_REQUEST;
        handlers.GLOBAL_REQUEST = (self, name, ...more) => {
          if (name !== 'keepalive@openssh.com') asked.push(name); // as on a busy machine
          answer(self, name, ...more);
        };
        shell.on('data', () => {
          const name = 'hostkeys-00@openssh.com';
          const packet = packets.write.alloc(1 + 4 + name.length + 1);
          const body = packet.subarray(packets.write.allocStart);
          body[0] = 80; // SSH_MSG_GLOBAL_REQUEST
          body.writeUInt32BE(name.length, 1);
          body.write(name, 5);
          body[5 + name.length] = 0;
          cipher.encrypt(packets.write.finalize(packet));
          shell.write('told');
        });
      },
    },
    { data: (bytes) => (heard += Buffer.from(bytes).toString()) },
  );

  terminal.write(Buffer.from('go'), () => {});
  await until('what is told', () => heard === 'told');
  terminal.write(Buffer.from('go'), () => {});
  await until('what is told again', () => heard === 'toldtold'); // an answer to the first would have come before

  t.deepEqual(asked, []);
});

test('a machine that ends its half of the connection gives no files, and that is said each time', async (t) => {
  const { terminal, stream } = await terminalAt(t, {
    shell: (shell, _client, socket) => void shell.once('data', () => socket.end()),
  });

  terminal.write(Buffer.from('go'), () => {});
  await once(stream, 'end');

  for (let time = 0; time < 2; time += 1) {
    const asked = await terminal.files.write('/file', false);
    t.is(asked.ok || asked.refusal.message, 'The node gives no files over this connection (SFTP).');
  }
});

/** What a machine answers to each question for more names of a folder; undefined: it is the end. */
for (const [what, { answers, listed }] of Object.entries<{
  readonly answers: (asked: number) => readonly string[] | undefined;
  readonly listed: unknown;
}>({
  'that has no end': { answers: (asked) => [`file ${asked}`], listed: { entries: 10, isCut: true } },
  'that has itself in it without end': { answers: () => ['.', '..'], listed: { entries: 0, isCut: false } },
  'of answers without names': { answers: () => [], listed: { entries: 0, isCut: false } },
  'with a name of 250,000 bytes': {
    answers: () => ['x'.repeat(250_000)],
    listed: 'The node names a file by more than any file system takes.',
  },
  'with as many entries as are told': {
    answers: (asked) => (asked < 5 ? ['a', 'b'] : asked === 5 ? ['.', '..'] : undefined),
    listed: { entries: 10, isCut: false },
  },
}))
  test(`a folder ${what} is listed within bounds`, async (t) => {
    let asked = 0;
    const { terminal } = await terminalAt(t, {
      sftp(files) {
        files.on('REALPATH', (id, path) => files.name(id, [nameOf(path)]));
        files.on('OPENDIR', (id) => files.handle(id, Buffer.from('folder')));
        files.on('READDIR', (id) => {
          const names = answers(asked);
          asked += 1;
          if (names === undefined) files.status(id, 1);
          else files.name(id, names.map(nameOf));
        });
        files.on('CLOSE', (id) => files.status(id, 0));
      },
    });

    const found = await terminal.files.list('/', 10);

    t.deepEqual(
      found.ok ? { entries: found.value.entries.length, isCut: found.value.isCut } : found.refusal.message,
      listed,
    );
    t.true(asked <= 13, `${asked} questions`);
  });

function nameOf(filename: string): FileEntry {
  return { filename, longname: '', attrs: { mode: 0o100_644, uid: 0, gid: 0, size: 0, atime: 0, mtime: 0 } };
}

test('a machine that takes no packet that anything fits into is hung up on', async (t) => {
  for (const bytes of [0, 1, SSH_PACKET_BYTES_MIN - 1]) {
    const terminals = await machine(t, {
      greeted(client) {
        const speech = speechOf(client);
        const confirm = speech.channelOpenConfirm.bind(speech);
        speech.channelOpenConfirm = (remote, local, window) => confirm(remote, local, window, bytes);
      },
    });
    const heard = { data: () => {}, exit: () => {}, closed: () => {} };

    const opened = await terminals.open(asked(), heard, new AbortController().signal);

    if (opened.ok) opened.value.write(Buffer.from('words'), () => {}); // for ever, where it was taken
    t.false(opened.ok, `${bytes}`);
  }
});
