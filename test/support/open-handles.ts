/** What keeps this process from ending, as Node's own report names it. */
interface Report {
  readonly libuv: readonly Readonly<Record<string, unknown>>[];
}

/** Each a few words: the kind, and what tells it from others of its kind. */
export function openHandles(): readonly string[] {
  Object.assign(process.report, { excludeNetwork: true }); // no look-up of names: that blocks
  const { libuv } = process.report.getReport() as unknown as Report;
  return libuv.filter((handle) => handle['is_active'] === true && handle['is_referenced'] === true).map(({ type, pid, fd, localEndpoint, remoteEndpoint, filename, firesInMsFromNow }) => JSON.stringify({ type, pid, fd, localEndpoint, remoteEndpoint, filename, firesInMsFromNow }));
}
