/** The same clock in every process of the bench. */

/**
 * Unix time in ms with fractions of it, steady within a process. Processes of one machine agree to within about 0.1 ms.
 */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
