/** What keeps this process from ending, as Node's own report names it. */
interface Report {
  readonly libuv: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Each a few words: first the kinds of all that is open, requests and timers among them, then what tells handles of one
 * kind apart.
 */
export function openHandles(): readonly string[] {
  Object.assign(process.report, { excludeNetwork: true }); // no look-up of names: that blocks
  const { libuv } = process.report.getReport() as unknown as Report;
  const handles = libuv.filter(
    (handle) => handle['is_active'] === true && handle['is_referenced'] === true && handle['type'] !== 'loop',
  );
  return [
    ...process.getActiveResourcesInfo(),
    ...handles.map(({ type, pid, fd, localEndpoint, remoteEndpoint, filename }) =>
      JSON.stringify({ type, pid, fd, localEndpoint, remoteEndpoint, filename }),
    ),
  ];
}
