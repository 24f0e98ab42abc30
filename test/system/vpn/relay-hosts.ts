/** Relays that stand alone on public machines of a test's internet, and the map of all of them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Program } from '../../support/fleet/program.ts';
import type { Internet, Machine } from '../../support/networks/internet.ts';
import { programFile } from '../../support/run/programs.ts';
import { until } from '../../support/until.ts';
import { ADMIN_PORT } from '../../support/vpn/fixture.ts';

/** Serves one file, read anew each time; none is 404. */
const MAP_SERVER = `require('node:http').createServer((_, answer) => {
  try { answer.end(require('node:fs').readFileSync(process.argv[1])); } catch { answer.writeHead(404).end(); }
}).listen(8000, () => console.log('serves'));`;

/** The port of the map on the machine that has it. */
const MAP_PORT = 8_000;

/** Where agents find the map that `serveRelays` puts on this machine. */
export function relayMapUrl(host: Machine): string {
  return `http://${host.address}:${MAP_PORT}/derp-map.json`;
}

/**
 * Starts a relay for each region on a machine of its own, and serves the map of all of them on `host`, where the admin
 * is that lets members in.
 */
export async function serveRelays(
  internet: Internet,
  host: Machine,
  regions: readonly number[],
): Promise<ReadonlyMap<number, Program>> {
  const relays = new Map<number, Program>();
  const parts: Record<string, unknown>[] = [];
  for (const region of regions) {
    const machine = await internet.host(`relay-${region}`);
    const relay = machine.spawn(process.execPath, [programFile('edge-admin'), 'relay'], {
      RELAY_HOSTNAME: machine.address,
      RELAY_ADMISSION_URL: `http://${host.address}:${ADMIN_PORT}/api/v1/relays/admission`,
      RELAY_REGION_ID: `${region}`,
      RELAY_REGION_CODE: `r${region}`,
      DATA_DIR: machine.directory,
    });
    relays.set(region, relay);
    parts.push(await until('the map of a relay', () => relay.lines().find((line) => line['Regions'] !== undefined)));
  }
  const path = join(host.directory, 'derp-map.json');
  await writeFile(
    path,
    JSON.stringify({ ...parts[0], Regions: Object.assign({}, ...parts.map((part) => part['Regions'])) as object }),
  );
  const server = host.spawn(process.execPath, ['-e', MAP_SERVER, path]);
  await until('the map server', () => server.output.includes('serves'));
  return relays;
}
