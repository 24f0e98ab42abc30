/** Names in the machine's hosts file, in a block of this agent's own. */
import { withBlock } from './block.ts';
import { editFile } from './file.ts';
import type { Edited } from './file.ts';
import type { VpnRecords } from './records.ts';

/** A line of ours: an address, a tab, a name, and the same below `cluster-<cluster>`. */
const ROW = /^[\d.a-f:]+\t(?<label>[a-z0-9-]+)\.(?<domain>[a-z0-9.-]+)(?: \k<label>\.cluster-\k<domain>)?$/u;

/** Puts exactly these names into the file; null: none. The end of a sentence when it cannot. */
export function writeHosts(path: string, node: string, records: VpnRecords | null): Promise<Edited> {
  const lines = records === null ? [] : hostsRows(records);
  return editFile(path, (text) => withBlock(text, { node, lines, place: 'last', isOwn: isHostsRow }));
}

/**
 * Lines of a hosts file, the canonical names first, as an address is called what its first line says. Each is below
 * 1,024 bytes, which is what musl reads.
 */
export function hostsRows({ hosts }: VpnRecords): readonly string[] {
  return hosts.flatMap(({ names, ipv4, ipv6 }) => {
    const pairs = pairsOf(names);
    return [ipv4, ipv6].flatMap((address) => pairs.map((pair) => `${address}\t${pair}`));
  });
}

/** Whether a line can only have been written by an agent. */
export function isHostsRow(line: string): boolean {
  return ROW.test(line);
}

/** Both names of each label. */
function pairsOf(names: readonly string[]): readonly string[] {
  const byLabel = Map.groupBy(names, (name) => name.slice(0, name.indexOf('.')));
  return [...byLabel.values()].map((pair) => pair.join(' '));
}
