/** A count as people read it. */
export function number(count: number): string {
  return count.toLocaleString('en');
}
