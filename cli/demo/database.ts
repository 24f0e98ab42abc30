/** The PostgreSQL that the demo's admins share, held by the demo itself: it outlives each of them. */
import { startEmbeddedPostgres } from '../../persistence/embedded/launcher.ts';
import { createLog } from '../../transport/net/pino-log.ts';

/**
 * Starts it on the DATA_DIR of the admins, which take it over as it runs there. Answers what ends it, once they have
 * ended.
 */
export async function holdDatabase(dataDir: string): Promise<() => Promise<void>> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: createLog('demo', 'silent') });
  return () => postgres.stop();
}
