/** A client of `/api/v1/terminal` that says what a test makes it say. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { CHANNELS, TERMINAL_PROTOCOL, type Channel, type ServiceMessage } from '../../../api/terminal/messages.ts';
import { base64, bytesOf, makeBrowserKey } from '../../../console/terminal/browser-key.ts';
import { FLEET_KEYS } from '../fleet.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';

/** One connection. */
export interface TerminalClient {
  readonly socket: WebSocket;
  /** What the service said so far, in order, but for bytes. */
  readonly said: readonly ServiceMessage[];
  /** What the shell showed so far. */
  readonly shown: () => string;
  readonly say: (message: object) => void;
  /** Sends bytes to the shell, or of a file. */
  readonly write: (channel: Channel, bytes: string | Buffer) => void;
  /** The first message of this type, once it is there. Rejects when it is over without. */
  hears<T extends ServiceMessage['type']>(type: T): Promise<Extract<ServiceMessage, { readonly type: T }>>;
}

/** Connects to the admin of this URL; nothing is said yet. It ends with the scope. */
export async function connectTerminal(scope: Scope, adminUrl: string): Promise<TerminalClient> {
  const socket = new WebSocket(`${adminUrl.replace('http', 'ws')}/api/v1/terminal`, [TERMINAL_PROTOCOL], {
    headers: { authorization: `Bearer ${FLEET_KEYS.API_KEY}` },
  });
  scope.teardown(() => socket.terminate());
  const said: ServiceMessage[] = [];
  let shown = '';
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) shown += data.subarray(1).toString();
    else said.push(JSON.parse(data.toString()) as ServiceMessage);
  });
  await once(socket, 'open');
  return {
    socket,
    said,
    shown: () => shown,
    say: (message) => socket.send(JSON.stringify(message)),
    write: (channel, bytes) => socket.send(Buffer.concat([Buffer.of(CHANNELS[channel]), Buffer.from(bytes)])),
    async hears(type) {
      const isIt = (message: ServiceMessage): message is Extract<ServiceMessage, { readonly type: typeof type }> =>
        message.type === type;
      const found = await until(`${type} of a terminal`, () => said.find(isIt) ?? said.find(isOver));
      if (isIt(found)) return found;
      throw new Error(`no ${type} of a terminal that said ${JSON.stringify(said)}`);
    },
  };
}

const isOver = ({ type }: ServiceMessage): boolean => type === 'over';

/** Somebody at a node. */
export interface SignIn {
  readonly node: string;
  readonly username: string;
  readonly password: string;
}

/** Opens a terminal by password. */
export async function openTerminal(
  scope: Scope,
  adminUrl: string,
  { node, username, password }: SignIn,
): Promise<TerminalClient> {
  const terminal = await connectTerminal(scope, adminUrl);
  terminal.say(openMessage(node, username, { type: 'password', password }));
  await terminal.hears('opened');
  return terminal;
}

/** Asks for terminals by a new key, the same for all of them. Each is open or over when it resolves. */
export async function terminalsByKey(scope: Scope, adminUrl: string, { node, username }: Omit<SignIn, 'password'>) {
  const key = await makeBrowserKey();
  if (key === null) throw new Error('there is no key');
  return async (): Promise<TerminalClient> => {
    const terminal = await connectTerminal(scope, adminUrl);
    terminal.socket.on('message', () => {
      const last = terminal.said.at(-1);
      if (last?.type === 'sign')
        void key
          .sign(bytesOf(last.data))
          .then((signature) => terminal.say({ type: 'signature', signature: base64(signature) }));
    });
    terminal.say(openMessage(node, username, { type: 'key', public_key: key.line, is_new: true }));
    await until('it to be open or over', () => terminal.said.some(({ type }) => type === 'opened' || type === 'over'));
    return terminal;
  };
}

function openMessage(node: string, username: string, signIn: object): object {
  return { type: 'open', node_id: node, username, sign_in: signIn, terminal: { columns: 80, rows: 24 } };
}
