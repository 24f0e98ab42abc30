/** Outputs of many nodes, put together as `clush -b` does. */

/** What one node said. */
export interface NodeOutput {
  readonly label: string;
  readonly output: string;
}

/** Dashes around the names of a group. Source: clush. */
const RULE = '-'.repeat(15);

/** Nodes that said exactly the same stand together; the largest group first, then by name. */
export function groupOutputs(
  outputs: readonly NodeOutput[],
): readonly { readonly labels: readonly string[]; readonly output: string }[] {
  const groups = new Map<string, string[]>();
  for (const { label, output } of outputs) {
    const group = groups.get(output);
    if (group === undefined) groups.set(output, [label]);
    else group.push(label);
  }
  return [...groups]
    .map(([output, labels]) => ({ labels: labels.toSorted(), output }))
    .toSorted((a, b) => b.labels.length - a.labels.length || (a.labels[0] ?? '').localeCompare(b.labels[0] ?? ''));
}

/** The groups as text: names, how many, and what they said once. */
export function groupedText(outputs: readonly NodeOutput[]): string {
  return groupOutputs(outputs)
    .map(({ labels, output }) => `${groupHeading(labels)}${endedText(output)}`)
    .join('');
}

/** The names of a group between two rules, and how many where they are several. */
export function groupHeading(labels: readonly string[]): string {
  return `${RULE}\n${labels.join(',')}${labels.length > 1 ? ` (${labels.length})` : ''}\n${RULE}\n`;
}

/** Every line with the name of its node before it. */
export function prefixedText({ label, output }: NodeOutput): string {
  return output === ''
    ? ''
    : endedText(output)
        .slice(0, -1)
        .split('\n')
        .map((line) => `${label}: ${line}\n`)
        .join('');
}

/** An output whose last line has an end. */
export function endedText(output: string): string {
  return output === '' || output.endsWith('\n') ? output : `${output}\n`;
}
