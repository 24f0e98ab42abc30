/** How much a piece of work costs, however busy the machine is. */

/** Processor time that this process takes for it, in ms. Nothing else may run in the process meanwhile. */
export async function cpuMsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
