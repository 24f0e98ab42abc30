/** A command of the demo, as `edge run` shows it. */
import { createLiveClient, type Api } from '../service/client.ts';
import type { Connection } from '../service/connection.ts';
import { runCommand } from '../run/run.ts';

/** Runs it and shows what every machine said. Resolves with the exit status; `stop` ends it early. */
export function showRun(
  api: Api,
  connection: Connection,
  command: Parameters<typeof runCommand>[2],
  stop: AbortSignal,
): Promise<number> {
  const live = createLiveClient(connection);
  return runCommand(api, live, command, {
    format: 'table',
    summary: 'grouped',
    isRaw: false,
    isColoured: false,
    waitsForAway: true,
    isFramed: false,
    cancel: stop,
    leave: stop,
  }).finally(() => live.close());
}
