/** `@openagentic/native-runner/remote`: the sandboxes of other machines, over NATS. */

export type {
  RemoteCredentials,
  RemoteNativeRunnerOptions,
  RemotePolicyOptions,
  RemoteQueue,
  RemoteTls,
  RemoteWorkspace,
} from "../../types/remote/runner-options.js";
export { RemoteNativeRunner } from "../remote/caller/remote-runner.js";
