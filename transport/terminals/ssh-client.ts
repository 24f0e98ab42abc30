/** A client of the SSH servers of nodes, by the tunnel of each: a shell, and files beside it. */
import ssh2 from 'ssh2';
import type { Duplex } from 'node:stream';
import type { AnyAuthMethod, BaseAgent, Client, ClientChannel, ConnectConfig } from 'ssh2';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { RemoteTerminal, SignIn, TerminalAsked, TerminalHeard, Terminals } from '../../api/terminal/ports.ts';
import { SSH_ALGORITHMS } from '../net/ssh/algorithms.ts';
import { isExchangingKeys } from '../net/ssh/peer-guard.ts';
import { fingerprintOf } from '../protocol/ssh.ts';
import type { Tunnels } from '../tunnels/tunnels.ts';
import { createFiles } from './files.ts';
import { boundServer } from './ssh-library.ts';

/** What programs in it are told of the terminal: what xterm.js speaks. */
const TERM = 'xterm-256color';

/**
 * Silence after which a node is asked whether it is there, in ms, and how many such questions stay unanswered at most.
 */
const KEEP_ALIVE_MS = 15_000;
const KEEP_ALIVES_MISSED_MAX = 3;

/** From the first byte to the login, in ms: as the SSH server has it. */
const LOGIN_MS_MAX = 30_000;

/** Opens terminals over these tunnels. */
export function createSshTerminals(tunnels: Pick<Tunnels, 'reach'>): Terminals {
  return {
    async open(asked, heard, signal) {
      const { node, sshPort: port } = asked;
      const dialled = await tunnels.reach(node, { use: 'self', host: 'localhost', port, server: 'ssh' }, signal);
      if (!dialled.ok) return refuse('service_unavailable', dialled.message);
      return new Connection(dialled.stream, asked, heard).open(signal);
    },
  };
}

/** One connection, which has one shell. */
class Connection {
  readonly #client: Client = new ssh2.Client();
  readonly #stream: Duplex;
  readonly #asked: TerminalAsked;
  readonly #heard: TerminalHeard;
  /** As it was shown. */
  #hostKey = '';
  #isOtherKey = false;
  #isOpen = false;
  #problem: string | null = null;

  constructor(stream: Duplex, asked: TerminalAsked, heard: TerminalHeard) {
    this.#stream = stream;
    this.#asked = asked;
    this.#heard = heard;
  }

  async open(signal: AbortSignal): Promise<Result<RemoteTerminal>> {
    const abort = (): void => this.#cut();
    signal.addEventListener('abort', abort, { once: true });
    try {
      if (signal.aborted) return refuse('service_unavailable', 'It was given up.');
      const refused = await this.#logIn();
      if (refused !== null) return refused;
      const shell = await this.#shell();
      if (!shell.ok) {
        this.#cut();
        return shell;
      }
      this.#isOpen = true;
      return ok(this.#terminal(shell.value));
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Null: logged in. */
  #logIn(): Promise<ReturnType<typeof refuse> | null> {
    return new Promise((resolve) => {
      const client = this.#client;
      this.#stream.on('error', () => {}); // its close follows, and is told by ssh2
      client.once('ready', () => resolve(null));
      client.on('error', (error: Error & { readonly level?: string }) => {
        this.#problem = error.message;
        resolve(this.#refusalOf(error.level ?? ''));
        this.#cut();
      });
      client.once('close', () => {
        resolve(refuse('service_unavailable', 'The node closed the connection before anybody was logged in.'));
        if (this.#isOpen) this.#heard.closed(this.#problem);
        this.#isOpen = false;
      });
      client.connect(this.#config());
      boundServer(client, this.#stream, () => this.#cut());
    });
  }

  #config(): ConnectConfig {
    const { username, signIn, hostKey } = this.#asked;
    const method: AnyAuthMethod =
      signIn.type === 'password'
        ? { type: 'password', username, password: signIn.password }
        : {
            type: 'agent',
            username,
            agent: signingAgent(signIn, (error) =>
              this.#client.emit('error', Object.assign(error, { level: 'agent' })),
            ),
          };
    return {
      sock: this.#stream,
      username,
      algorithms: SSH_ALGORITHMS,
      readyTimeout: LOGIN_MS_MAX,
      keepaliveInterval: KEEP_ALIVE_MS,
      keepaliveCountMax: KEEP_ALIVES_MISSED_MAX,
      hostVerifier: (blob: Buffer) => {
        this.#hostKey = fingerprintOf(blob);
        this.#isOtherKey = hostKey !== null && hostKey.split(' ')[1] !== blob.toString('base64');
        return !this.#isOtherKey;
      },
      authHandler: [method],
    };
  }

  #refusalOf(level: string): ReturnType<typeof refuse> {
    const { username, signIn } = this.#asked;
    if (this.#isOtherKey)
      return refuse(
        'conflict',
        `The machine shows another host key than the service knows (${this.#hostKey}). Nobody was logged in: find out why first.`,
      );
    if (level === 'client-authentication')
      return refuse(
        'forbidden',
        signIn.type === 'password'
          ? `The node does not let ${username} in with this password.`
          : `The node does not let ${username} in with this key.`,
      );
    if (level === 'agent') return refuse('forbidden', 'Your key did not sign.');
    return refuse('service_unavailable', 'The node closed the connection before anybody was logged in.');
  }

  #shell(): Promise<Result<ClientChannel>> {
    const { columns: cols, rows } = this.#asked.size;
    return new Promise<Result<ClientChannel>>((resolve) => {
      this.#client.once('close', () => resolve(NO_SHELL));
      this.#client.shell({ term: TERM, cols, rows }, (error, channel) => {
        if (error !== undefined) return resolve(NO_SHELL);
        const heard = this.#heard;
        channel.on('data', (bytes: Buffer) => heard.data(bytes));
        channel.on('exit', (code: number | null, signal?: string) => heard.exit(code, signal ?? null));
        channel.on('error', () => {}); // the end of the connection follows
        channel.once('close', () => this.#client.end());
        resolve(ok(channel));
      });
    }).catch(() => NO_SHELL); // ssh2 throws where the machine ended its half of the connection
  }

  #terminal(channel: ClientChannel): RemoteTerminal {
    return {
      hostKey: this.#hostKey,
      write: (bytes, taken) => {
        if (!this.#isOpen || !channel.writable) return;
        if (isExchangingKeys(this.#client)) this.#holdBack(channel);
        channel.write(bytes, () => taken());
      },
      pause: () => channel.pause(),
      resume: () => channel.resume(),
      resize: ({ columns, rows }) => {
        if (this.#isOpen && channel.writable) channel.setWindow(rows, columns, 0, 0);
      },
      files: createFiles(this.#client),
      end: () => {
        this.#client.end();
        this.#cut();
      },
    };
  }

  /** Until keys are exchanged, of what is written the channel keeps all, and says of none that it was taken. */
  #holdBack(channel: ClientChannel): void {
    if (channel.writableCorked > 0) return;
    channel.cork();
    this.#client.once('handshake', () => channel.uncork());
  }

  /** What a machine that says nothing any more would keep waiting. */
  #cut(): void {
    this.#client.destroy();
    this.#stream.destroy();
  }
}

/**
 * What ssh2 asks for keys: the client's, which signs at the client. `failed`: what it signed is no signature, at which
 * ssh2 throws.
 */
function signingAgent(
  { publicKey, sign }: Extract<SignIn, { readonly type: 'key' }>,
  failed: (error: Error) => void,
): BaseAgent {
  class Signing extends ssh2.BaseAgent {
    override getIdentities(done: (error: undefined, keys: string[]) => void): void {
      done(undefined, [publicKey]);
    }
    override sign(...asked: readonly unknown[]): void {
      const data = asked[1] as Buffer;
      const done = asked.findLast((one) => typeof one === 'function') as (error?: Error, signature?: Buffer) => void;
      signed(sign(data), done).catch(failed);
    }
  }
  return new Signing();
}

async function signed(
  signature: Promise<Uint8Array>,
  done: (error?: Error, signature?: Buffer) => void,
): Promise<void> {
  let bytes: Uint8Array;
  try {
    bytes = await signature;
  } catch {
    return done(new Error('the client did not sign'));
  }
  return done(undefined, Buffer.from(bytes));
}

const NO_SHELL = refuse('service_unavailable', 'The node opened no shell.');
