/** Real databases for tests: one PostgreSQL a run, a fresh database a test. */
import { randomBytes } from 'node:crypto';
import { registerCompletionHandler } from 'ava';
import { Client } from 'pg';
import { SERVER_VARIABLE, startTestServer, type TestConnection } from './server.ts';

/** Database that holds the migrated schema, from which those of the tests are copied. */
const TEMPLATE = 'migrated';

/**
 * A server that does not answer is a test that fails, in ms. The template is made by one file and waited for by others.
 */
const TIMEOUTS = { connectionTimeoutMillis: 60_000, query_timeout: 120_000 };

/** Advisory lock under which the template is made; any number does, the server being the tests' own. */
const TEMPLATE_LOCK = 4_711;

/**
 * A database of the test's own with the migrated schema, or an empty one, which may have another encoding, dropped at
 * the end of the test with all who are connected. Uses the server of the run; a test file that is run alone starts its
 * own.
 */
export async function createDatabase(
  t: { teardown(task: () => Promise<void>): void },
  { schema = 'migrated', encoding }: { readonly schema?: 'migrated' | 'empty'; readonly encoding?: string } = {},
): Promise<TestConnection> {
  const server = await sharedServer();
  const database = `test_${randomBytes(8).toString('hex')}`;
  if (schema === 'migrated') await ensureTemplate(server);
  await administer(server, (client) => client.query(`CREATE DATABASE ${database}${madeOf(schema, encoding)}`));
  t.teardown(() =>
    administer(server, async (client) => {
      await client.query(`DROP DATABASE ${database} WITH (FORCE)`);
    }),
  );
  return { ...server, database };
}

/** Another encoding than that of the server takes a locale that goes with all of them. */
function madeOf(schema: 'migrated' | 'empty', encoding: string | undefined): string {
  if (encoding !== undefined) return ` ENCODING '${encoding}' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'`;
  return schema === 'migrated' ? ` TEMPLATE ${TEMPLATE}` : '';
}

let sharedByFile: Promise<TestConnection> | undefined;

function sharedServer(): Promise<TestConnection> {
  const given = process.env[SERVER_VARIABLE];
  return (sharedByFile ??= given === undefined ? ownServer() : Promise.resolve(JSON.parse(given) as TestConnection));
}

async function ownServer(): Promise<TestConnection> {
  const server = await startTestServer();
  registerCompletionHandler(() => {
    void server.stop();
  });
  return server.connection;
}

let templateMade: Promise<void> | undefined;

function ensureTemplate(server: TestConnection): Promise<void> {
  return (templateMade ??= administer(server, async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1 AND datistemplate', [
      TEMPLATE,
    ]);
    if (rowCount === 1) return;
    await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE}`); // of a test file that was ended while making it
    await client.query(`CREATE DATABASE ${TEMPLATE}`);
    await migrate({ ...server, database: TEMPLATE });
    await client.query(`ALTER DATABASE ${TEMPLATE} IS_TEMPLATE true`);
  }));
}

/** Loads what it needs only here: that takes longer than most files do, and one file of a run makes the template. */
async function migrate(connection: TestConnection): Promise<void> {
  const [{ openDatabase }, { silentLog }] = await Promise.all([
    import('../../../persistence/connections/database.ts'),
    import('../log.ts'),
  ]);
  const database = await openDatabase({ connection, poolMax: 2, log: silentLog });
  await database.migrate();
  await database.close();
}

/** Does something over a connection to the server's own database, which also gives back all locks at its end. */
async function administer<Result>(server: TestConnection, task: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ ...server, database: 'postgres', ...TIMEOUTS });
  await client.connect();
  try {
    return await task(client);
  } finally {
    await client.end();
  }
}
