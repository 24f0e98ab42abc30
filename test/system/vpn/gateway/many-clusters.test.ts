/**
 * An admin with more clusters and members than one interface has room for, with a real interface: it joins what fits,
 * says what does not, and goes on.
 */
import ava, { type ExecutionContext } from 'ava';
import { gatewayInterface } from '../../../../transport/vpn/gateway/open-gateway.ts';
import { DEVICE_LIMITS } from '../../../../transport/vpn/wireguard/limits.ts';
import type { Program } from '../../../support/fleet/program.ts';
import { startInternet } from '../../../support/networks/internet.ts';
import type { Machine } from '../../../support/networks/machine.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { createScope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

const test = await peerTest('root', 'tun', 'ip', 'nft', 'wireguard-go', 'wg');

/** Two addresses for each cluster, one after the other, in ms. */
const JOINED_MS_MAX = 90_000;

/** UDP, of the machine that is the admin's alone. */
const PORT = 51_900;

const scope = createScope();
const PROGRAM = new URL('gateway-program.ts', import.meta.url).pathname;
let machine: Machine;

test.before(async () => {
  machine = await (await startInternet(scope)).host('admin');
});

ava.after.always(() => scope.end());

interface Now {
  readonly isHere: boolean;
  readonly problem: string | null;
  readonly note: string | null;
  readonly joined: number;
  readonly leftOut: number;
  readonly peers: number;
}

let runs = 0;

function start(
  t: ExecutionContext,
  clusters: number,
  members: number,
  more: { readonly adminId?: string; readonly port?: number } = {},
): { readonly program: Program; readonly adminId: string; readonly interfaceName: string } {
  runs += 1;
  const { adminId = `0190f5c2-7a11-7c3e-8f01-${String(process.pid * 10 + runs).padStart(12, '0')}`, port = 0 } = more;
  const program = machine.spawn(process.execPath, [PROGRAM, adminId, `${clusters}`, `${members}`, `${port}`]);
  t.teardown(async () => {
    program.kill();
    await machine.run('ip', ['link', 'delete', 'dev', gatewayInterface(adminId)]).catch(() => {});
  });
  return { program, adminId, interfaceName: gatewayInterface(adminId) };
}

/** The last line in which it says how it is. */
function now(program: Program): Now | null {
  const line = program.output.split('\n').findLast((one) => one.includes('"msg":"now"') && one.endsWith('}'));
  return line === undefined ? null : (JSON.parse(line) as Now);
}

async function counted(interfaceName: string): Promise<{ readonly addresses: number; readonly peers: number }> {
  const addresses = (await machine.run('ip', ['-oneline', 'address', 'show', 'dev', interfaceName])).stdout
    .trim()
    .split('\n').length;
  return {
    addresses,
    peers: (await machine.run('wg', ['show', interfaceName, 'peers'])).stdout.trim().split('\n').length,
  };
}

test.serial(
  'an admin with 140 clusters is in all of their VPNs, answers meanwhile, and stops when told to',
  async (t) => {
    const { program, interfaceName } = start(t, 140, 2);

    const there = await until(
      'all VPNs',
      () => {
        const seen = now(program);
        return seen?.peers === 280 ? seen : null;
      },
      JOINED_MS_MAX,
    );

    t.deepEqual([there.joined, there.leftOut, there.problem, there.note], [140, 0, null, null]);
    t.deepEqual(await counted(interfaceName), { addresses: 280, peers: 280 });
    program.terminate();
    await program.logged('closed');
  },
);

test.serial(
  'with more clusters than addresses of an interface it joins those that fit, names others, and stops when told to',
  async (t) => {
    const most = DEVICE_LIMITS.addressesMax / 2;
    const { program, interfaceName } = start(t, most + 3, 1);

    const there = await until(
      'the VPNs that fit',
      () => {
        const seen = now(program);
        return seen?.peers === most ? seen : null;
      },
      JOINED_MS_MAX,
    );

    t.deepEqual(
      [there.joined, there.leftOut, there.problem, there.note],
      [most, 3, null, `there is no room for the VPNs of c${most}, c${most + 1}, c${most + 2}`],
    );
    t.deepEqual(await counted(interfaceName), { addresses: 2 * most, peers: most });
    t.is(program.output.split('their VPNs are not joined').length, 2, 'said once');
    program.terminate();
    await program.logged('closed');
  },
);

test.serial('an admin that was killed has its port again, though the interface of before is there', async (t) => {
  const inVpn = (program: Program) => until('its VPN', () => now(program)?.peers === 1, JOINED_MS_MAX);
  const { program, adminId, interfaceName } = start(t, 1, 1, { port: PORT });
  const port = async (): Promise<string> =>
    (await machine.run('wg', ['show', interfaceName, 'listen-port'])).stdout.trim();
  await inVpn(program);
  program.kill();
  await program.ended();
  t.is(await port(), `${PORT}`);

  const next = start(t, 1, 1, { adminId, port: PORT });
  await inVpn(next.program);

  t.is(await port(), `${PORT}`);
  next.program.terminate();
  await next.program.logged('closed');
});
