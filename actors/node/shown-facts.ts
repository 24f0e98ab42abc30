/** What an agent says of its machine, as anybody may see it. */
import type { NodeFacts, ToldFacts } from '../../transport/protocol/facts.ts';
import { shownVersion, shownWords } from '../agent-words.ts';

/** Longest shown text of each, in characters: as long as the wire takes them. */
const CHARS_MAX = 253;

/** Facts as anybody may see them: their texts are an agent's, which may be anybody's (R3). */
export function shownFacts(facts: ToldFacts): NodeFacts {
  const words = (text: string | null): string | null => (text === null ? null : shownWords(text, CHARS_MAX));
  return {
    ...facts,
    hostname: shownWords(facts.hostname, CHARS_MAX),
    os: shownWords(facts.os, CHARS_MAX),
    os_version: facts.os_version === null ? null : shownVersion(facts.os_version, CHARS_MAX),
    os_name: words(facts.os_name),
    kernel: shownVersion(facts.kernel, CHARS_MAX),
    arch: shownWords(facts.arch, CHARS_MAX),
    cpu_model: words(facts.cpu_model),
    virtualization: words(facts.virtualization),
    time_zone: words(facts.time_zone),
    ssh_host_key: facts.ssh_host_key ?? null,
  };
}
