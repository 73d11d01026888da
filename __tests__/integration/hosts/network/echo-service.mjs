// A gRPC service whose messages are text: a stream that comes back.
const isText = {
  requestSerialize: (text) => Buffer.from(text),
  requestDeserialize: (bytes) => bytes.toString(),
  responseSerialize: (text) => Buffer.from(text),
  responseDeserialize: (bytes) => bytes.toString(),
};

export const kEcho = {
  echo: { path: "/test.Echo/echo", requestStream: true, responseStream: true, ...isText },
};
