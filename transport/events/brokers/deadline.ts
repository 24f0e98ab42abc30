/** Waiting no longer than allowed. */

/**
 * What the promise resolves to, or a rejection with the reason once `msMax` has passed. What the promise resolves to
 * after that is given to `late`, so that nothing stays behind.
 */
export async function within<T>(
  msMax: number,
  promise: Promise<T>,
  reason: () => Error,
  late: (value: T) => void = () => {},
): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    reject(reason());
  }, msMax);
  promise.then(
    (value) => isLate && late(value),
    () => {},
  );
  try {
    return await Promise.race([promise, expired]);
  } finally {
    clearTimeout(timer);
  }
}
