/** What the agent lives on: disk, memory, file descriptors, and the system itself. */
import { readdir, readFile, statfs } from 'node:fs/promises';
import { release, uptime } from 'node:os';
import { DISK_FREE_BYTES_MIN } from '../health.ts';
import { failed, passed, warned } from './check.ts';
import type { Check, Finding } from './check.ts';

/** Less room than this is warned of: what the largest outputs of a day of commands may take, in bytes. */
const DISK_FREE_BYTES_WARN = 268_435_456;

/** Free inodes below which nothing new is stored soon. The agent makes a few files a command. */
const INODES_FREE_MIN = 64;
const INODES_FREE_WARN = 1_024;

/**
 * Shares of memory that are left, in percent, and of time that everything waited for memory in the last minute. Source
 * of the latter: Linux, PSI.
 */
const MEMORY_PERCENT_WARN = 10;
const MEMORY_PERCENT_FAIL = 3;
const STALLED_PERCENT_WARN = 10;

/** Share of file descriptors in use, in percent. */
const FDS_PERCENT_WARN = 80;
const FDS_PERCENT_FAIL = 95;

/** The Node that the code is written for. */
const NODE_MAJOR_MIN = 24;

const MIB = 1_048_576;

/** What these checks look at. */
export interface MachineSources {
  /** The agent's data directory. */
  readonly directory: string;
  /** Where /proc is. */
  readonly proc: string;
  readonly version: string;
}

/** The disk under the agent's data. */
export function diskCheck({ directory }: Pick<MachineSources, 'directory'>): Check {
  return { name: 'disk', look: () => disk(directory) };
}

/** Memory and file descriptors. */
export function resourceChecks({ proc }: Pick<MachineSources, 'proc'>): readonly Check[] {
  return [
    { name: 'memory', look: () => memory(proc) },
    { name: 'file_descriptors', look: () => fileDescriptors(proc) },
  ];
}

/** What runs here. */
export function systemCheck({ version }: Pick<MachineSources, 'version'>): Check {
  return { name: 'system', look: () => system(version) };
}

async function disk(directory: string): Promise<Finding> {
  const { bavail, bsize, blocks, files, ffree } = await statfs(directory);
  const freeBytes = bavail * bsize;
  // Some file systems count no inodes: they are never short of them.
  const inodes = files > 0 ? ffree : null;
  const details = {
    free_bytes: freeBytes,
    total_bytes: blocks * bsize,
    free_inodes: inodes,
    total_inodes: files > 0 ? files : null,
  };
  const hint =
    'Make room on the disk of AGENT_DATA_DIR: results of commands and recordings wait there until an admin has them.';
  const free = `${Math.floor(freeBytes / MIB)} MiB are free where the agent keeps its data`;
  if (freeBytes < DISK_FREE_BYTES_MIN)
    return failed(`${free}: once none is, commands wait and outputs are cut.`, hint, details);
  if (inodes !== null && inodes < INODES_FREE_MIN)
    return failed(
      `${inodes} files can still be made where the agent keeps its data.`,
      'Remove files from the disk of AGENT_DATA_DIR: it has room, but no inodes.',
      details,
    );
  if (freeBytes < DISK_FREE_BYTES_WARN) return warned(`${free}.`, hint, details);
  if (inodes !== null && inodes < INODES_FREE_WARN)
    return warned(
      `${inodes} files can still be made where the agent keeps its data.`,
      'Remove files from the disk of AGENT_DATA_DIR: it runs out of inodes.',
      details,
    );
  return passed(`${free}.`, details);
}

async function memory(proc: string): Promise<Finding> {
  const [text, stalled] = await Promise.all([readFile(`${proc}/meminfo`, 'utf8'), stalledPercent(proc)]);
  const bytesOf = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'mu').exec(text)?.[1] ?? Number.NaN) * 1_024;
  const [total, available] = [bytesOf('MemTotal'), bytesOf('MemAvailable')];
  if (!(total > 0) || Number.isNaN(available))
    return warned('This system does not say how much memory is left.', 'Look at the machine itself.');
  const percent = Math.round((available / total) * 100);
  const details = { available_bytes: available, total_bytes: total, stalled_percent: stalled };
  const left = `${percent} % of the memory is left`;
  const hint = 'See what takes it: `ps aux --sort -rss | head`.';
  if (percent < MEMORY_PERCENT_FAIL) return failed(`${left}: processes may be killed at any moment.`, hint, details);
  if (stalled !== null && stalled > STALLED_PERCENT_WARN)
    return warned(`${left}, and everything waited for memory for ${stalled} % of the last minute.`, hint, details);
  if (percent < MEMORY_PERCENT_WARN) return warned(`${left}.`, hint, details);
  return passed(`${left}.`, details);
}

/** Share of the last minute in which all processes waited for memory; null where the kernel does not tell. */
async function stalledPercent(proc: string): Promise<number | null> {
  const text = await readFile(`${proc}/pressure/memory`, 'utf8').catch(() => '');
  const average = /^full .*\bavg60=(?<average>[\d.]+)/mu.exec(text)?.groups?.['average'];
  return average === undefined ? null : Number(average);
}

async function fileDescriptors(proc: string): Promise<Finding> {
  const [open, limits] = await Promise.all([readdir(`${proc}/self/fd`), readFile(`${proc}/self/limits`, 'utf8')]);
  const soft = /^Max open files\s+(?<soft>\d+|unlimited)/mu.exec(limits)?.groups?.['soft'] ?? 'unlimited';
  const details = { open: open.length, limit: soft === 'unlimited' ? null : Number(soft) };
  if (soft === 'unlimited') return passed(`${open.length} file descriptors are open, without a limit.`, details);
  const percent = (open.length / Number(soft)) * 100;
  const summary = `${open.length} of ${soft} file descriptors are open.`;
  const hint =
    'Raise the limit of the agent (LimitNOFILE= of its systemd unit, or FILES_MAX in edge-agentctl) and stop and start it, and see who has that many connections through this machine.';
  if (percent > FDS_PERCENT_FAIL) return failed(summary, hint, details);
  return percent > FDS_PERCENT_WARN ? warned(summary, hint, details) : passed(summary, details);
}

function system(version: string): Finding {
  const details = {
    agent: version,
    node: process.versions.node,
    kernel: release().slice(0, 256),
    platform: process.platform,
    architecture: process.arch,
    uptime_seconds: Math.floor(uptime()),
    runs_as_root: process.getuid?.() === 0,
  };
  const summary = `Agent ${version} runs on Node ${process.versions.node}, ${process.platform} ${details.kernel}, ${process.arch}.`;
  const major = Number(process.versions.node.split('.', 1)[0]);
  return major < NODE_MAJOR_MIN
    ? warned(summary, `Use Node ${NODE_MAJOR_MIN} or later.`, details)
    : passed(summary, details);
}
