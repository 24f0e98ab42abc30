/** Labels as people write them in one line. Pure. */

/** `env=prod,gpu` by their keys; or the first part that is none. What a label may be is the service's to say. */
export function labelsIn(
  text: string,
): { readonly ok: true; readonly labels: Record<string, string> } | { readonly ok: false; readonly part: string } {
  const labels: Record<string, string> = {};
  for (const part of text.split(',').map((one) => one.trim())) {
    if (part === '') continue;
    const [key = '', value = '', ...more] = part.split('=').map((one) => one.trim());
    if (key === '' || more.length > 0 || key === '__proto__') return { ok: false, part };
    labels[key] = value;
  }
  return { ok: true, labels };
}

/** The same back: in the order in which they came. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => (value === '' ? key : `${key}=${value}`))
    .join(', ');
}
