/** What goes wrong with an interface, as errors that an operator may read: one sentence, without keys or addresses. */

/** The system refuses, or cannot do, what was asked. */
export class DeviceProblem extends Error {
  override readonly name: string = 'DeviceProblem';
}

/** The interface, or the program that runs it, is not there any more. */
export class DeviceGone extends DeviceProblem {
  override readonly name = 'DeviceGone';
}

/** The system looked at what was asked, and does not take it. Something else may be taken. */
export class DeviceRefusal extends DeviceProblem {
  override readonly name = 'DeviceRefusal';
}
