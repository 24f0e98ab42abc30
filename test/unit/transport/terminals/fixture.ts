/** A machine with an SSH server of ssh2, and the client of nodes' SSH servers against it. */
import { spawn } from 'node:child_process';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { ExecutionContext } from 'ava';
import ssh2, { type Algorithms, type Connection, type ServerChannel, type SFTPWrapper } from 'ssh2';
import { sftpCommand } from '../../../../agent/access/sftp/command.ts';
import { createHostKey } from '../../../../agent/access/ssh/host-key.ts';
import type { RemoteTerminal, TerminalAsked, TerminalHeard } from '../../../../api/terminal/ports.ts';
import { notDialled, type Dialled } from '../../../../transport/net/streams/dialled.ts';
import { NodeId } from '../../../../transport/protocol/ids.ts';
import { createSshTerminals } from '../../../../transport/terminals/ssh-client.ts';
import { SOME_ID } from '../../../support/api/fakes.ts';

/** Lets in whoever shows it. */
export const PASSWORD = 'a-password-of-this-test';

const HOST_KEY = hostKey();

/** What a machine does with whom it let in; `socket`: the machine's end of the connection. */
export interface Played {
  /** Unless given, it says what is typed, and ends with 7 at `exit`. */
  readonly shell?: (channel: ServerChannel, client: Connection, socket: Socket) => void;
  readonly sftp?: (files: SFTPWrapper) => void;
  /** The machine's end of a connection, before a word was said, and after the version of the client. */
  readonly accepted?: (socket: Socket) => void;
  readonly greeted?: (client: Connection, socket: Socket) => void;
  /** What it speaks, where that is not what ssh2 does. */
  readonly algorithms?: Algorithms;
  /** The agent's server of files, in place of `sftp`. */
  readonly hasFiles?: boolean;
}

/** Such as agents have. */
export function hostKey(): { readonly pem: string; readonly line: string } {
  const pem = createHostKey();
  const key = ssh2.utils.parseKey(pem);
  if (key instanceof Error) throw key;
  return { pem, line: `${key.type} ${key.getPublicSSH().toString('base64')}` };
}

/** A server that lets in by the password, and by any key that signs. `streams`: what terminals came by. */
export async function machine(
  t: ExecutionContext,
  { shell = echo, sftp, accepted, greeted, algorithms = {}, hasFiles = false }: Played = {},
) {
  const sockets = createServer((socket) => {
    accepted?.(socket);
    const server = new ssh2.Server({ hostKeys: [HOST_KEY.pem], ident: 'OpenSSH_9.2p1', algorithms }, (client) => {
      client.on('error', () => {});
      greeted?.(client, socket);
      client.on('authentication', (login) => {
        if (login.method === 'password' && login.password === PASSWORD) return login.accept();
        if (login.method !== 'publickey') return login.reject(['password', 'publickey']);
        const key = ssh2.utils.parseKey(login.key.data);
        if (login.signature === undefined) return login.accept();
        if (key instanceof Error || login.blob === undefined) return login.reject();
        return key.verify(login.blob, login.signature, login.hashAlgo) ? login.accept() : login.reject();
      });
      client.on('session', (accept) => {
        const session = accept();
        session.on('pty', (yes) => yes());
        session.on('shell', (yes) => shell(yes(), client, socket));
        if (sftp !== undefined) session.on('sftp', (yes) => sftp(yes()));
        if (hasFiles) session.on('subsystem', (yes) => serveFiles(yes()));
      });
    });
    server.injectSocket(socket.on('error', () => {}));
  });
  await new Promise<void>((resolve) => {
    sockets.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => sockets.close());
  const { port } = sockets.address() as AddressInfo;
  const streams: Socket[] = [];
  const reach = async (): Promise<Dialled> =>
    new Promise((resolve) => {
      const stream = connect(port, '127.0.0.1', () => resolve({ ok: true, stream }));
      stream.on('error', () => resolve(notDialled('failed', 'The machine hung up.')));
      streams.push(stream);
      t.teardown(() => stream.destroy());
    });
  return { ...createSshTerminals({ reach }), streams, port };
}

/** What is asked for; the rest is right. */
export function asked(changes: Partial<TerminalAsked> = {}): TerminalAsked {
  return {
    node: NodeId.parse(SOME_ID),
    sshPort: 40_022,
    username: 'ops',
    signIn: { type: 'password', password: PASSWORD },
    hostKey: HOST_KEY.line,
    size: { columns: 80, rows: 24 },
    ...changes,
  };
}

/** A terminal at a machine, with what is heard of it. */
export async function terminalAt(t: ExecutionContext, played: Played, heard: Partial<TerminalHeard> = {}) {
  const terminals = await machine(t, played);
  const closed = Promise.withResolvers<string | null>();
  const opened = await terminals.open(
    asked(),
    { data: () => {}, exit: () => {}, closed: closed.resolve, ...heard },
    new AbortController().signal,
  );
  if (!opened.ok) throw new Error(opened.refusal.message);
  const [stream] = terminals.streams;
  if (stream === undefined) throw new Error('nobody connected');
  const terminal: RemoteTerminal = opened.value;
  return { terminal, stream, closed: closed.promise };
}

function echo(shell: ServerChannel): void {
  shell.on('data', (data: Buffer) => {
    if (data.toString() !== 'exit') return shell.write(data);
    shell.exit(7);
    return shell.end();
  });
}

function serveFiles(channel: ServerChannel): void {
  const [program, ...words] = sftpCommand(null);
  const { stdin, stdout } = spawn(program, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  channel.pipe(stdin.on('error', () => {}));
  stdout.pipe(channel);
}
