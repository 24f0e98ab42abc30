/** Which encodings of a body a client takes. */

/** Whether a header names an encoding, and not with a weight of nought. Source: RFC 9110, 12.5.3. */
export function acceptsEncoding(header: string | string[] | undefined, encoding: string): boolean {
  if (header === encoding) return true;
  return String(header ?? '')
    .split(',')
    .map((one) => one.split(';').map((part) => part.trim())) // no expression: one over many blanks takes seconds
    .some(([name, weight = 'q=1']) => name?.toLowerCase() === encoding && !/^q=0(?:\.0*)?$/u.test(weight));
}
