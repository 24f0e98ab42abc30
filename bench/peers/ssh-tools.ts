/** What people use over ssh, as contestants of "run true on N hosts, collect output and exit codes". */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Side } from '../method/interleave.ts';
import type { SshFleet } from './ssh-fleet.ts';

/** Hosts worked on at a time. Source: the measurements behind the suite; more was not faster on two cores. */
const FANOUT = 32;

/** clush, each connection made anew. */
export function clushCold(clush: string, fleet: SshFleet, hosts: number): Side {
  return { name: 'clush cold', run: () => timed(clush, clushArguments(fleet, fleet.coldConfig, hosts)) };
}

/** clush over connections that ssh keeps open: the best that ssh can do. Its first run opens them. */
export function clushWarm(clush: string, fleet: SshFleet, hosts: number): Side {
  return { name: 'clush warm', run: () => timed(clush, clushArguments(fleet, fleet.warmConfig, hosts)) };
}

/** Ansible's `raw`, its fastest module, with pipelining. Connections are its own, kept for a minute. */
export async function ansible(program: string, fleet: SshFleet): Promise<Side> {
  const config = join(fleet.directory, 'ansible.cfg');
  await writeFile(
    config,
    [
      '[defaults]',
      `inventory=${fleet.inventory}`,
      `forks=${FANOUT}`,
      'host_key_checking=False',
      'gathering=explicit',
      'interpreter_python=/usr/bin/python3',
      `local_tmp=${join(fleet.directory, 'tmp')}`,
      '[ssh_connection]',
      'pipelining=True',
      `ssh_args=-F ${fleet.coldConfig} -o ControlMaster=auto -o ControlPersist=60s`,
      `control_path_dir=${join(fleet.directory, 'cp')}`,
      '',
    ].join('\n'),
  );
  return {
    name: 'ansible raw',
    run: () =>
      timed(program, ['all', '-m', 'raw', '-a', 'true'], {
        ANSIBLE_CONFIG: config,
        ANSIBLE_HOME: join(fleet.directory, 'ansible'),
      }),
  };
}

function clushArguments(fleet: SshFleet, config: string, hosts: number): string[] {
  return ['-w', `n[1-${hosts}]`, '-f', String(FANOUT), '-S', '-o', `-F ${config}`, '--user', fleet.account, 'true'];
}

async function timed(
  program: string,
  parameters: readonly string[],
  environment: Readonly<Record<string, string>> = {},
) {
  const began = performance.now();
  const child = spawn(program, [...parameters], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment },
  });
  let complaint = '';
  child.stderr.on('data', (piece: Buffer) => {
    complaint += piece.toString();
  });
  const [status] = (await once(child, 'exit')) as [number | null];
  const seconds = (performance.now() - began) / 1_000;
  if (status !== 0) throw new Error(`${program} ended with status ${status}: ${complaint.slice(0, 500)}`);
  return { seconds, readings: {} };
}
