/** A library of a broker that prints what the broker said: no byte of it gets among the lines of the admin. */
import test from 'ava';
import { ADMIN_KEYS, ENCRYPTION_KEY } from '../../support/admin.ts';
import { createDatabase } from '../../support/database/database.ts';
import { Program } from '../../support/fleet/program.ts';
import { target } from '../../support/net/listening.ts';
import { urlOf } from '../../support/database/server.ts';

test('what NATS says beyond its protocol is in no line of the admin but as text', async (t) => {
  const port = await target(t, (socket) => {
    socket.on('error', () => {}).write('INFO {"version":"2.10.0","max_payload":1048576}\r\n');
    socket.once('data', () => socket.write('PONG\r\n\u001b[2J{"msg":"forged"}\r\n'));
  });

  const program = Program.start(t, 'edge-admin', ['serve'], {
    ...ADMIN_KEYS,
    ENCRYPTION_KEY,
    DATABASE_URL: urlOf(await createDatabase(t)),
    ADMIN_API_HOST: '127.0.0.1',
    ADMIN_API_PORT: '0',
    ADMIN_PROXY_HOST: '127.0.0.1',
    ADMIN_HTTP_PROXY_PORT: '0',
    ADMIN_SOCKS5_PROXY_PORT: '0',
    ADMIN_OBSERVER_PORT: '0',
    ADMIN_GATEWAY_ENABLED: 'false',
    EVENT_BROKER_ENABLED: 'true',
    EVENT_BROKER_ADAPTER: 'nats',
    EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${port}`,
    LOG_LEVEL: 'debug',
  });
  await program.logged('edge-admin is ready');
  const printed = await program.logged('A library printed');

  t.regex(String(printed['text']), /reader closed/u);
  program.terminate();
  t.deepEqual(await program.ended(), { code: 0, signal: null });
  t.deepEqual(
    program.output.split('\n').filter((line) => line !== '' && !line.startsWith('{"level"')),
    [],
  );
});
